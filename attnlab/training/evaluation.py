"""A model tested on sequences it has not met."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from attnlab.models import AbstractModel
from attnlab.models.readout import final_logits

# Sequences evaluated together: bounds the memory of a test at any length and width.
_EVALUATION_BLOCK = 1_000


class Evaluation(NamedTuple):
    """Test figures with their standard errors over the test sequences."""

    nll: float
    nll_stderr: float
    accuracy: float
    accuracy_stderr: float


def evaluate(
    model: AbstractModel, sequences: Int[Array, "size days"], *, readout: str
) -> Evaluation:
    """Loss and accuracy of predicting the final day, at the readout, on test sequences.

    The standard error of an accuracy p over n sequences is √(p(1-p)/n) with p moved half a
    sequence away from 0 and 1, so that it is never zero.
    """
    nll, right = (np.asarray(part, dtype=np.float64) for part in _test(model, sequences, readout))
    size = nll.size
    accuracy = right.mean()
    safe = np.clip(accuracy, 0.5 / size, 1 - 0.5 / size)
    # Of a model that has left all bounds the loss is infinite and its error no number.
    with np.errstate(invalid="ignore"):
        nll_stderr = float(nll.std() / np.sqrt(size))
    return Evaluation(
        nll=float(nll.mean()),
        nll_stderr=nll_stderr,
        accuracy=float(accuracy),
        accuracy_stderr=float(np.sqrt(safe * (1 - safe) / size)),
    )


@eqx.filter_jit
def _test(model, sequences, readout):
    def one(days):
        log_probs = jax.nn.log_softmax(final_logits(model, days[:-1], readout))
        return -log_probs[days[-1]], jnp.argmax(log_probs) == days[-1]

    return jax.lax.map(one, sequences, batch_size=_EVALUATION_BLOCK)
