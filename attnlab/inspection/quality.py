"""How good a model's probabilities are: calibration, surprise, and a test against the truth."""

from collections.abc import Iterator
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from attnlab.configuration.cancellation import check_in
from attnlab.configuration.numerics import fixed_numerics
from attnlab.generators import loss_mask_of
from attnlab.inspection.predictions import Transitions, confusion, final_probs, transitions
from attnlab.models import AbstractModel
from attnlab.optimum import entropy
from attnlab.optimum.sequences import Estimate, mean_and_error, predictives
from attnlab.training.evaluation import EvaluationByPosition, evaluate_by_position
from attnlab.training.experiment import Experiment
from attnlab.training.sources import as_examples


def redrawn(
    probs: Float[np.ndarray, "sequences vocab"], times: int, seed: int = 0
) -> Iterator[Int[np.ndarray, " sequences"]]:
    """Yield `times` samples of all final tokens, each drawn from its row of `probs`.

    The same `seed` gives the same draws.
    """
    up_to = probs.cumsum(axis=1)
    rng = np.random.default_rng(seed)
    for _ in range(times):
        check_in()
        uniform = rng.random((len(probs), 1)) * up_to[:, -1:]
        # An impossible token is never the first whose cumulative probability is larger.
        yield (up_to[:, :-1] <= uniform).sum(axis=1)


_DRAWS = 200


class Calibration(NamedTuple):
    """Predicted probabilities in bins, and the observed frequencies of those tokens.

    `error` is the expected calibration error: the mean of |predicted - observed| over all
    predictions. Its standard error over sequences is too large if the error is little more than
    chance. `perfect_error` is the mean error of the same predictions if they were perfectly
    calibrated, with this number of sequences; `perfect_error_std` is its standard deviation.
    """

    predicted: Float[np.ndarray, " bins"]
    observed: Float[np.ndarray, " bins"]
    observed_stderr: Float[np.ndarray, " bins"]
    count: Int[np.ndarray, " bins"]
    error: Estimate
    perfect_error: float
    perfect_error_std: float


def calibration(
    probs: Float[np.ndarray, "sequences vocab"],
    final: Int[np.ndarray, " sequences"],
    bins: int,
    seed: int = 0,
) -> Calibration:
    """Return the reliability of all predicted probabilities of all tokens, in bins of equal width.

    Empty bins are left out. Only one token per sequence is observed: if m predictions of a sequence
    are in a bin, one of them comes true with probability m times the bin's frequency. So standard
    errors are over sequences, not predictions. Guo et al. (2017), "On calibration of modern neural
    networks".
    """
    size, vocab = probs.shape
    place = np.minimum((probs * bins).astype(int), bins - 1)
    rows, count = np.arange(size), np.bincount(place.ravel(), minlength=bins)
    full, expected = count > 0, np.bincount(place.ravel(), probs.ravel(), bins)
    observed = np.bincount(place[rows, final], minlength=bins)
    gap = observed - expected
    # What each sequence adds to the error, given the sign of each bin's gap.
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
        error=Estimate(
            float(np.abs(gap).sum() / probs.size),
            float(each.std(ddof=1) / vocab / np.sqrt(size)),
        ),
        perfect_error=float(np.mean(perfect)),
        perfect_error_std=float(np.std(perfect, ddof=1)),
    )


def _errors(
    place: Int[np.ndarray, "sequences vocab"],
    observed: Int[np.ndarray, " bins"],
    count: Int[np.ndarray, " bins"],
) -> Float[np.ndarray, " bins"]:
    """Return the standard error of each bin's frequency; meaningless for an empty bin."""
    size, bins = len(place), len(count)
    codes = (np.arange(size)[:, None] * bins + place).ravel()
    held = np.bincount(codes, minlength=size * bins).reshape(size, bins)
    count = np.maximum(count, 1)
    # Half an event away from none and from all, so that no error is zero by chance.
    share = np.clip(observed / count, 0.5 / count, 1 - 0.5 / count)
    chance = np.minimum(held * share, 1.0)
    return np.sqrt((chance * (1 - chance)).sum(axis=0)) / count


class LikelihoodRatioTest(NamedTuple):
    """The distance of a model from the true distribution, and whether the final tokens reveal it.

    `divergence` is the mean KL(true ‖ model) over the sequences, in nats, whatever the final
    tokens. `log_ratio` is the sum over the sequences of log(true / model) of the observed final
    token, in nats. `p_value` is the probability of a `log_ratio` at least as large if the final
    tokens come from the model, estimated with `draws` samples.
    """

    divergence: Estimate
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
    """Test the hypothesis that each final token comes from the model's distribution.

    `final` are independent draws from `true`. No test of its size has more power against the true
    distribution (Neyman and Pearson 1933). If k of the draws are at least as large, the p-value is
    (k + 1) / (draws + 1), which keeps its level for any number of sequences (Davison and Hinkley
    1997, "Bootstrap methods and their application", section 4.2). If both distributions are equal,
    the p-value is 1. P-values with the same `seed` use the same draws.
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
    # If the model excludes a possible token its divergence is infinite, with the error NaN.
    with np.errstate(invalid="ignore"):
        distance = mean_and_error(divergence)
    return LikelihoodRatioTest(
        divergence=distance,
        log_ratio=float(observed),
        p_value=float((as_large + 1) / (draws + 1)),
        draws=draws,
    )


class Surprise(NamedTuple):
    """Expected -log p of the next token under the model, in nats, in its two parts.

    `unavoidable` is the entropy of the true distribution; `error` is KL(true ‖ model), due to the
    model. Their sum is the expected loss.
    """

    unavoidable: float
    error: float


def surprise(true: Float[np.ndarray, " vocab"], model: Float[np.ndarray, " vocab"]) -> Surprise:
    """Split cross-entropy into entropy + divergence: Cover and Thomas (2006), equation 5.25."""
    possible = true > 0
    with np.errstate(divide="ignore"):
        divergence = (true[possible] * np.log(true[possible] / model[possible])).sum()
    # In this order, since the rounding error of a certain token would be shown as -0.000.
    return Surprise(*(max(0.0, float(part)) for part in (entropy(true), divergence)))


_BINS = 10


class Quality(NamedTuple):
    """Confusion and calibration on test sequences, and the model against the true distribution.

    `by_position` are the results for every trained token, or None if only the final token was
    trained. `transitions` and `test` are None until they are computed, and without a law.
    """

    counts: Int[np.ndarray, "observed predicted"]
    reliable: Calibration
    by_position: EvaluationByPosition | None
    transitions: Transitions | None
    test: LikelihoodRatioTest | None


def quality(
    experiment: Experiment, model: AbstractModel, test: Int[np.ndarray, "sequences positions"]
) -> Iterator[Quality]:
    """Evaluate the model on test sequences; yield first partial, then complete results."""
    visible, final = test[:, :-1], test[:, -1]
    probs = final_probs(model, visible, experiment.training.readout)
    examples = as_examples(jnp.asarray(test), loss_mask_of(experiment.generator, test))
    every_position = experiment.training.loss == "next"
    found = Quality(
        counts=confusion(probs, final),
        reliable=calibration(probs, final, _BINS, experiment.seed),
        by_position=evaluate_by_position(model, examples) if every_position else None,
        transitions=None,
        test=None,
    )
    yield found
    if not experiment.generator.has_law:
        return
    true = predictives(experiment.generator, visible)[:, -1]
    yield found._replace(
        transitions=transitions(visible[:, -1], true, probs),
        test=likelihood_ratio_test(true, probs, final, seed=experiment.seed),
    )
