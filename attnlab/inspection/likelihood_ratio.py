"""Whether final tokens tell a model from the process that they came from."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.inspection.redrawn import redrawn


class LikelihoodRatioTest(NamedTuple):
    """How far the model is from the true distribution, and whether the final tokens show it.

    `divergence` is the mean KL(true ‖ model) over the sequences, in nats, and `divergence_stderr`
    its standard error; no final token has a part in them. `log_ratio` is the sum over the sequences
    of log(true / model) of the observed final token, in nats. `p_value` is the probability of a
    `log_ratio` at least as large if the final tokens come from the model, estimated with `draws` of
    them.
    """

    divergence: float
    divergence_stderr: float
    log_ratio: float
    p_value: float
    draws: int


@fixed_numerics()
def likelihood_ratio_test(
    true: Float[np.ndarray, "sequences vocab"],
    model: Float[np.ndarray, "sequences vocab"],
    final: Int[np.ndarray, " sequences"],
    draws: int = 999,
    seed: int = 0,
) -> LikelihoodRatioTest:
    """Test of the hypothesis that each final token comes from the model's distribution.

    `final` are independent draws from `true`. No test of its size has more power against the true
    distribution (Neyman and Pearson 1933). With k of the draws at least as large the p-value is
    (k + 1) / (draws + 1), which keeps its level at any number of sequences (Davison and Hinkley
    1997, "Bootstrap methods and their application", section 4.2). Where both distributions are the
    same there is nothing to test, and it is 1. P-values of one `seed` share the luck of its draws.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log(true) - np.log(model)
    log_ratio = np.where((true == 0) & (model == 0), 0.0, log_ratio)
    rows = np.arange(len(true))
    observed = log_ratio[rows, final].sum()
    as_large = sum(
        log_ratio[rows, tokens].sum() >= observed for tokens in redrawn(model, draws, seed)
    )
    divergence = np.maximum((true * np.where(true > 0, log_ratio, 0.0)).sum(axis=1), 0.0)
    # The divergence of a model that rules out what can happen is infinite, and its error no number.
    with np.errstate(invalid="ignore"):
        error = divergence.std(ddof=1) / np.sqrt(len(true))
    return LikelihoodRatioTest(
        divergence=float(divergence.mean()),
        divergence_stderr=float(error),
        log_ratio=float(observed),
        p_value=float((as_large + 1) / (draws + 1)),
        draws=draws,
    )
