"""Training losses, and scheduled sampling of the tokens that a model reads."""

from types import MappingProxyType
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from attnlab.models import AbstractModel
from attnlab.models.base import readout_position
from attnlab.training.sources import Example

LOSSES = MappingProxyType(
    {
        "last": "only the final token is predicted",
        "next": "every position predicts its next token (mean over positions)",
        "published": "every position predicts the final token (sum over positions)",
    }
)
LOSS_TOKENS = MappingProxyType(
    {
        "tested": "only tokens that are tested, such as answers to questions",
        "all": "every token, so that the model also learns to predict the rest of a sequence",
    }
)


class SequenceLoss(NamedTuple):
    """The minimised `objective` and the `nll` of one sequence, in nats.

    `nll` is -log p(final token) at the readout. With the loss `next` and a loss mask, as in a task,
    it is the mean over the tokens in the mask.
    """

    objective: Float[Array, ""]
    nll: Float[Array, ""]


def sequence_loss(
    model: AbstractModel,
    example: Example,
    *,
    loss: str,
    readout: str,
    loss_tokens: str = "tested",
    visible: Int[Array, " visible"] | None = None,
) -> SequenceLoss:
    """Return the loss of this name (see `LOSSES`) on an example, whose last token is the final one.

    If `visible` is given, the model reads these tokens instead of the example's own, which remain
    the targets. With `last` only the readout position is computed. With `next` the
    objective leaves out tokens outside the loss mask, unless `loss_tokens` is `all`.
    """
    length, final = example.tokens.size - 1, example.tokens[-1]
    position = readout_position(readout, length)
    read = example
    if visible is not None:
        read = example._replace(tokens=jnp.append(visible, final))
    if loss == "last":
        log_probs = jax.nn.log_softmax(model(read.tokens[:-1], jnp.array([position]))[0][0])
        nll = -of_final(log_probs, final, example.final_law)
        return SequenceLoss(objective=nll, nll=nll)
    log_probs = jax.nn.log_softmax(model(read.tokens[:-1], jnp.arange(length))[0])
    nll = -of_final(log_probs[position], final, example.final_law)
    if loss == "next":
        of_next = jnp.take_along_axis(log_probs, example.tokens[1:, None], axis=1)[:, 0]
        if example.final_law is not None:
            of_next = of_next.at[-1].set(of_final(log_probs[-1], final, example.final_law))
        tested = -of_next.mean(where=example.loss_mask[1:])
        objective = tested if loss_tokens == "tested" else -of_next.mean()
        return SequenceLoss(objective, jnp.where(example.loss_mask.all(), nll, tested))
    of_all = of_final(log_probs, final, example.final_law)
    return SequenceLoss(objective=-of_all.sum(), nll=nll)


def of_final(
    values: Float[Array, "*positions vocab"],
    final: Int[Array, ""],
    law: Float[Array, " vocab"] | None,
) -> Float[Array, "*positions"]:
    """Return the values of the token `final` or, with its `law`, their expectation."""
    return values[..., final] if law is None else values @ law


def mixed_in(
    model: AbstractModel, examples: Example, *, share: Float[Array, ""] | float, key: Key[Array, ""]
) -> Int[Array, "batch visible"]:
    """Return a batch's visible tokens, replacing those in the loss with probability `share`.

    A replacement is the model's most probable token, given the true tokens before it. A first pass
    without gradients predicts all replacements at once, so none depends on earlier replacements, as
    it would in decoding token by token. Bengio et al. (2015), "Scheduled
    sampling for sequence prediction with recurrent neural networks", section 2.4; Mihaylova and
    Martins (2019), "Scheduled sampling for transformers", section 3, on the two passes.
    """
    own = jax.vmap(lambda example: _predicted(model, example))(examples)
    chosen = examples.loss_mask[:, :-1] & (jr.uniform(key, own.shape) < share)
    return jnp.where(chosen, own, examples.tokens[:, :-1])


def _predicted(model: AbstractModel, example: Example) -> Int[Array, " visible"]:
    """Return the prediction of every visible token; the first has none."""
    tokens = example.tokens[:-1]
    logits = model(tokens, jnp.arange(tokens.size - 1))[0]
    own = jnp.argmax(logits, axis=-1).astype(tokens.dtype)
    return jnp.concatenate([tokens[:1], own])
