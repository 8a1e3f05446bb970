"""What training asks of a model."""

from types import MappingProxyType
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from attnlab.models import AbstractModel
from attnlab.models.readout import readout_position
from attnlab.training.sources import Example

LOSSES = MappingProxyType(
    {
        "last": "the position that is read out predicts the final day",
        "next": "every position predicts its next day; mean over positions",
        "published": "every position predicts the final day; sum over positions",
    }
)


class SequenceLoss(NamedTuple):
    """For one sequence, in nats: what is minimised, and -log p(final token) at the readout."""

    objective: Float[Array, ""]
    nll: Float[Array, ""]


def sequence_loss(
    model: AbstractModel, example: Example, *, loss: str, readout: str
) -> SequenceLoss:
    """The loss of a name of `LOSSES` on an example whose last token is the final one.

    Only the positions that count are computed: for `last` the readout alone. `next` leaves out
    the tokens that are not asked.
    """
    visible, final = example.tokens.size - 1, example.tokens[-1]
    position = readout_position(readout, visible)
    if loss == "last":
        nll = -jax.nn.log_softmax(logits_of(model, example, jnp.array([position]))[0])[final]
        return SequenceLoss(objective=nll, nll=nll)
    log_probs = jax.nn.log_softmax(logits_of(model, example, jnp.arange(visible)))
    nll = -log_probs[position, final]
    if loss == "next":
        of_next = jnp.take_along_axis(log_probs, example.tokens[1:, None], axis=1)[:, 0]
        return SequenceLoss(objective=-of_next.mean(where=example.asked[1:]), nll=nll)
    return SequenceLoss(objective=-log_probs[:, final].sum(), nll=nll)


def logits_of(
    model: AbstractModel, example: Example, queries: Int[Array, " query"]
) -> Float[Array, "query vocab"]:
    """A model's logits at these positions of the visible tokens, all but the last."""
    source = {"source": example.source} if example.source.size else {}
    return model(example.tokens[:-1], queries, **source)[0]
