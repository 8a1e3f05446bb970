"""The next token by the last visible one: the true distribution beside a model's."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

# The rounding of float32 probabilities.
_ROUNDING = 1e-6


class Means(NamedTuple):
    """Means over the sequences that end in a token (rows), and their standard errors.

    NaN where no sequence, or for the error a single one, ends in it.
    """

    mean: Float[np.ndarray, "before after"]
    stderr: Float[np.ndarray, "before after"]


class Transitions(NamedTuple):
    """p(next token) by the last visible one, averaged over everything before it.

    `difference` is `model` less `true`; its error is that of pairs, since both are asked about the
    same sequences. `count` is how many of them end in each token.
    """

    count: Int[np.ndarray, " before"]
    true: Means
    model: Means
    difference: Means


def transitions(
    before: Int[np.ndarray, " sequences"],
    true: Float[np.ndarray, "sequences vocab"],
    model: Float[np.ndarray, "sequences vocab"],
) -> Transitions:
    """The mean of each distribution over the sequences by their last visible token, `before`."""
    count = np.bincount(before, minlength=true.shape[1])
    means = (_means(before, probs, count) for probs in (true, model, model - true))
    return Transitions(count, *means)


def _means(
    before: Int[np.ndarray, " sequences"],
    values: Float[np.ndarray, "sequences vocab"],
    count: Int[np.ndarray, " before"],
) -> Means:
    def total(columns: Float[np.ndarray, "sequences vocab"]) -> Float[np.ndarray, "before after"]:
        return np.stack([np.bincount(before, each, len(count)) for each in columns.T], axis=1)

    size = count[:, None]
    mean = total(values) / np.where(size > 0, size, np.nan)
    squares = total((values - mean[before]) ** 2)
    error = np.sqrt(squares / np.where(size > 1, size * (size - 1.0), np.nan))
    return Means(mean, np.where(error < _ROUNDING, 0.0, error))
