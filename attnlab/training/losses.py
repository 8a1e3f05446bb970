"""What training asks of a model, and what the model reads while it is asked."""

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
        "last": "the position that is read out predicts the final token",
        "next": "every position predicts its next token; mean over positions",
        "published": "every position predicts the final token; sum over positions",
    }
)


class SequenceLoss(NamedTuple):
    """For one sequence, in nats: what is minimised, and -log p(final token) at the readout.

    With the loss `next`, where not all tokens are asked, as those of a task's source: `nll` is the
    mean over those that are.
    """

    objective: Float[Array, ""]
    nll: Float[Array, ""]


def sequence_loss(
    model: AbstractModel,
    example: Example,
    *,
    loss: str,
    readout: str,
    visible: Int[Array, " visible"] | None = None,
) -> SequenceLoss:
    """The loss of a name of `LOSSES` on an example whose last token is the final one.

    With `visible` tokens the model reads these instead of the example's own, which it is still
    asked for.

    Only the positions that count are computed: for `last` the readout alone. `next` leaves out
    the tokens that are not asked.
    """
    length, final = example.tokens.size - 1, example.tokens[-1]
    position = readout_position(readout, length)
    read = example
    if visible is not None:
        read = example._replace(tokens=jnp.append(visible, final))
    if loss == "last":
        nll = -jax.nn.log_softmax(model(read.tokens[:-1], jnp.array([position]))[0][0])[final]
        return SequenceLoss(objective=nll, nll=nll)
    log_probs = jax.nn.log_softmax(model(read.tokens[:-1], jnp.arange(length))[0])
    nll = -log_probs[position, final]
    if loss == "next":
        of_next = jnp.take_along_axis(log_probs, example.tokens[1:, None], axis=1)[:, 0]
        objective = -of_next.mean(where=example.asked[1:])
        return SequenceLoss(objective, jnp.where(example.asked.all(), nll, objective))
    return SequenceLoss(objective=-log_probs[:, final].sum(), nll=nll)


def mixed_in(
    model: AbstractModel, examples: Example, *, share: Float[Array, ""] | float, key: Key[Array, ""]
) -> Int[Array, "batch visible"]:
    """The visible tokens of a batch, each that is asked replaced with probability `share`.

    In its place comes the token that the model thinks most probable after the true ones before
    it. All are predicted at once by a first pass, of which no gradient is taken: so what a second
    one reads in the place of a token does not follow from what it reads before it, as it would
    where a target is written token after token. Bengio et al. (2015), "Scheduled sampling for
    sequence prediction with recurrent neural networks", section 2.4; Mihaylova and Martins (2019),
    "Scheduled sampling for transformers", section 3, on the two passes.
    """
    own = jax.vmap(lambda example: _predicted(model, example))(examples)
    chosen = examples.asked[:, :-1] & (jr.uniform(key, own.shape) < share)
    return jnp.where(chosen, own, examples.tokens[:, :-1])


def _predicted(model: AbstractModel, example: Example) -> Int[Array, " visible"]:
    """Of every visible token the one in its place; the first is predicted by nobody."""
    tokens = example.tokens[:-1]
    logits = model(tokens, jnp.arange(tokens.size - 1))[0]
    own = jnp.argmax(logits, axis=-1).astype(tokens.dtype)
    return jnp.concatenate([tokens[:1], own])
