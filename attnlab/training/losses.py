"""What training asks of a model."""

from types import MappingProxyType
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from attnlab.models import AbstractModel
from attnlab.models.readout import final_logits, readout_position

LOSSES = MappingProxyType(
    {
        "last": "the position that is read out predicts the final day",
        "next": "every position predicts its next day; mean over positions",
        "published": "every position predicts the final day; sum over positions",
    }
)


class SequenceLoss(NamedTuple):
    """For one sequence, in nats: what is minimised, and -log p(final day) at the readout."""

    objective: Float[Array, ""]
    nll: Float[Array, ""]


def sequence_loss(
    model: AbstractModel, days: Int[Array, " days"], *, loss: str, readout: str
) -> SequenceLoss:
    """The loss of a name of `LOSSES` on visible days and, behind them, the day to predict.

    Only the positions that count are computed: for `last` the readout alone.
    """
    visible, final = days[:-1], days[-1]
    if loss == "last":
        nll = -jax.nn.log_softmax(final_logits(model, visible, readout))[final]
        return SequenceLoss(objective=nll, nll=nll)
    logits, _ = model(visible, jnp.arange(visible.size))
    log_probs = jax.nn.log_softmax(logits)
    nll = -log_probs[readout_position(readout, visible.size), final]
    if loss == "next":
        of_next = jnp.take_along_axis(log_probs, days[1:, None], axis=1)
        return SequenceLoss(objective=-of_next.mean(), nll=nll)
    return SequenceLoss(objective=-log_probs[:, final].sum(), nll=nll)
