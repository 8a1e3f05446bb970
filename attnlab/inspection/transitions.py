"""Days that a model makes up, against those of the process."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import chi2, chi2_contingency


class TransitionTest(NamedTuple):
    """Counts of (last visible day, next day) from the process and from the model.

    `statistic` is the sum, over the last days seen, of the chi-square statistics of homogeneity of
    the two rows; `p_value` is how often a model that is the process itself would do worse.
    """

    process: Int[np.ndarray, "before after"]
    model: Int[np.ndarray, "before after"]
    statistic: float
    degrees: int
    p_value: float


def transition_test(
    before: Int[np.ndarray, " sequences"],
    process: Int[np.ndarray, " sequences"],
    model: Int[np.ndarray, " sequences"],
    vocab: int,
) -> TransitionTest:
    """Whether the day that the model puts behind a sequence could be the process's.

    One next day a sequence, so that the counts are independent. Pearson's test of homogeneity;
    tokens that neither made are left out.
    """
    tables = [_counts(before, after, vocab) for after in (process, model)]
    statistic, degrees = 0.0, 0
    for rows in zip(*tables, strict=True):
        pair = np.stack(rows)
        pair = pair[:, pair.sum(axis=0) > 0]
        if pair.shape[1] > 1 and pair.sum():
            found = chi2_contingency(pair, correction=False)
            statistic, degrees = statistic + found.statistic, degrees + found.dof
    return TransitionTest(*tables, float(statistic), degrees, _upper_tail(statistic, degrees))


def _counts(
    before: Int[np.ndarray, " sequences"], after: Int[np.ndarray, " sequences"], vocab: int
) -> Int[np.ndarray, "before after"]:
    return np.bincount(before * vocab + after, minlength=vocab**2).reshape(vocab, vocab)


def _upper_tail(statistic: float, degrees: int) -> float:
    return float(chi2.sf(statistic, degrees)) if degrees else 1.0


def row_shares(
    counts: Int[np.ndarray, "before after"],
) -> tuple[Float[np.ndarray, "before after"], Float[np.ndarray, "before after"]]:
    """Each row's shares and their standard errors; NaN for a row without counts."""
    total = counts.sum(axis=1, keepdims=True).astype(float)
    total[total == 0] = np.nan
    share = counts / total
    return share, np.sqrt(share * (1 - share) / total)
