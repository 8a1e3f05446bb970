"""Whether a probability that a model predicts is the frequency that is observed."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attnlab.inspection.redrawn import redrawn

_DRAWS = 200


class Calibration(NamedTuple):
    """Predicted probabilities in bins, against how often those tokens were observed.

    `error` is the expected calibration error: the mean of |predicted - observed| over all
    predictions; `error_stderr` is its standard error over sequences, too large where the error is
    little more than chance. `perfect_error` is the error that the same predictions show on average
    on as many sequences whose final tokens really have these probabilities, since no bin has enough
    of them for an error of 0; `perfect_error_std` is its standard deviation from test to test.
    """

    predicted: Float[np.ndarray, " bins"]
    observed: Float[np.ndarray, " bins"]
    observed_stderr: Float[np.ndarray, " bins"]
    count: Int[np.ndarray, " bins"]
    error: float
    error_stderr: float
    perfect_error: float
    perfect_error_std: float


def calibration(
    probs: Float[np.ndarray, "sequences vocab"],
    final: Int[np.ndarray, " sequences"],
    bins: int,
    seed: int = 0,
) -> Calibration:
    """Reliability of all predicted probabilities, every token's counted, in bins of equal width.

    Empty bins are left out. One token of a sequence is observed, so a bin that holds m of them
    observes 1 with probability m times the bin's frequency, and else 0: the standard errors are
    over sequences, not over predictions. Guo et al. (2017), "On calibration of modern neural
    networks".
    """
    size, vocab = probs.shape
    place = np.minimum((probs * bins).astype(int), bins - 1)
    rows, count = np.arange(size), np.bincount(place.ravel(), minlength=bins)
    full, expected = count > 0, np.bincount(place.ravel(), probs.ravel(), bins)
    observed = np.bincount(place[rows, final], minlength=bins)
    gap = observed - expected
    # What each sequence adds to the error; its sign is that of the bin.
    each = (np.sign(gap)[place] * ((final[:, None] == np.arange(vocab)) - probs)).sum(axis=1)
    perfect = [
        np.abs(np.bincount(place[rows, tokens], minlength=bins) - expected).sum() / probs.size
        for tokens in redrawn(probs, _DRAWS, seed)
    ]
    return Calibration(
        predicted=expected[full] / count[full],
        observed=observed[full] / count[full],
        observed_stderr=_errors(place, observed, count)[full],
        count=count[full],
        error=float(np.abs(gap).sum() / probs.size),
        error_stderr=float(each.std(ddof=1) / vocab / np.sqrt(size)),
        perfect_error=float(np.mean(perfect)),
        perfect_error_std=float(np.std(perfect, ddof=1)),
    )


def _errors(
    place: Int[np.ndarray, "sequences vocab"],
    observed: Int[np.ndarray, " bins"],
    count: Int[np.ndarray, " bins"],
) -> Float[np.ndarray, " bins"]:
    """Standard error of the frequency of each bin; of an empty one it means nothing."""
    size, bins = len(place), len(count)
    codes = (np.arange(size)[:, None] * bins + place).ravel()
    held = np.bincount(codes, minlength=size * bins).reshape(size, bins)
    count = np.maximum(count, 1)
    # Half an event away from none and from all, so that no error is zero by luck.
    share = np.clip(observed / count, 0.5 / count, 1 - 0.5 / count)
    chance = np.minimum(held * share, 1.0)
    return np.sqrt((chance * (1 - chance)).sum(axis=0)) / count
