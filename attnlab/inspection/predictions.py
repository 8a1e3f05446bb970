"""What a model predicts on many sequences, and how that compares with what came."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.models import AbstractModel
from attnlab.models.readout import final_logits

_BLOCK = 1_000


def final_probs(
    model: AbstractModel, sequences: Int[Array | np.ndarray, "sequences length"], readout: str
) -> Float[np.ndarray, "sequences vocab"]:
    """The model's p(final day | visible days) of every sequence of visible days."""
    return np.asarray(_final_probs(model, jnp.asarray(sequences), readout), dtype=np.float64)


@eqx.filter_jit
def _final_probs(model, sequences, readout):
    def one(tokens):
        return jax.nn.softmax(final_logits(model, tokens, readout))

    return jax.lax.map(one, sequences, batch_size=_BLOCK)


def probs_by_query(
    model: AbstractModel, sequences: Int[Array | np.ndarray, "sequences length"]
) -> Float[np.ndarray, "sequences query vocab"]:
    """The softmax of the model's logits at every position of every sequence."""
    return np.asarray(_probs_by_query(model, jnp.asarray(sequences)), dtype=np.float64)


@eqx.filter_jit
def _probs_by_query(model, sequences):
    queries = jnp.arange(sequences.shape[1])

    def one(tokens):
        return jax.nn.softmax(model(tokens, queries)[0])

    return jax.lax.map(one, sequences, batch_size=_BLOCK)


def confusion(
    probs: Float[np.ndarray, "sequences vocab"], final: Int[np.ndarray, " sequences"]
) -> Int[np.ndarray, "came predicted"]:
    """How often each token came (rows) and was the likeliest (columns)."""
    vocab = probs.shape[1]
    pairs = final * vocab + probs.argmax(axis=1)
    return np.bincount(pairs, minlength=vocab**2).reshape(vocab, vocab)


class Calibration(NamedTuple):
    """Predicted probabilities in bins, against how often the predicted token came.

    `error` is the expected calibration error: the mean of |said - came| over all predictions.
    """

    said: Float[np.ndarray, " bins"]
    came: Float[np.ndarray, " bins"]
    came_stderr: Float[np.ndarray, " bins"]
    count: Int[np.ndarray, " bins"]
    error: float


def calibration(
    probs: Float[np.ndarray, "sequences vocab"], final: Int[np.ndarray, " sequences"], bins: int
) -> Calibration:
    """Reliability of all predicted probabilities, every token's counted, in bins of equal width.

    Empty bins are left out. Guo et al. (2017), "On calibration of modern neural networks".
    """
    said = probs.ravel()
    came = (final[:, None] == np.arange(probs.shape[1])).ravel()
    place = np.minimum((said * bins).astype(int), bins - 1)
    count = np.bincount(place, minlength=bins)
    full = count > 0
    mean_said = np.bincount(place, said, bins)[full] / count[full]
    share = np.bincount(place, came, bins)[full] / count[full]
    # Half an event away from none and from all, so that no error is zero.
    safe = np.clip(share, 0.5 / count[full], 1 - 0.5 / count[full])
    return Calibration(
        said=mean_said,
        came=share,
        came_stderr=np.sqrt(safe * (1 - safe) / count[full]),
        count=count[full],
        error=float((count[full] * np.abs(mean_said - share)).sum() / count.sum()),
    )
