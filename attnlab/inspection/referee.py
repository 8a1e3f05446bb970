"""The referee: how well each method of `METHODS` ranks positions, against two exact truths."""

import dataclasses
import functools
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.inspection.explanations import METHODS, Explained, Method, Scores, predictor
from attnlab.models import AbstractModel
from attnlab.optimum import token_marginals
from attnlab.optimum.dependence import effects_of_replacing, is_informative
from attnlab.optimum.sequences import log_weights, mean_and_error, predictives
from attnlab.training.experiment import Experiment, Setup
from attnlab.training.measure import Estimate, Measure

# Sequences that are ranked: at most, at least, and the tokens of all changed sequences.
_MOST, _LEAST, _MOST_TOKENS = 200, 10, 500_000
# A thousandth of the largest score counts as a tie, and a smaller change of a probability as none.
_TIE, _NO_CHANGE = 1e-3, 1e-6
# By the end of a measure's name: the truth, the score, and whether the method reads the untrained
# model instead of the trained one.
PARTS = {
    "": ("model", "rank", False),
    "auc": ("model", "auc", False),
    "untrained": ("model", "rank", True),
    "process": ("process", "rank", False),
    "process.auc": ("process", "auc", False),
    "process.untrained": ("process", "rank", True),
}
_TRUTHS = {"model": "what the model depends on", "process": "what the process depends on"}
_SCORES = {"rank": "rank correlation", "auc": "area under the curve"}


class Truth(NamedTuple):
    """What predictions depend on: the size for each position, and which positions matter.

    `size` is the expected change, in total variation, if the token is resampled from the process
    given all other visible tokens. It is exact.
    """

    size: Float[np.ndarray, "sequences length"]
    matters: Bool[np.ndarray, "sequences length"]


class Truths(NamedTuple):
    """What a model's prediction depends on, and what the exact prediction depends on.

    Positions of the process matter if they are its true sources, where it defines them. Otherwise
    they matter as in `informative_positions`, as those of the model always do.
    """

    model: Truth
    process: Truth


@fixed_numerics()
def explained_by(model: AbstractModel, setup: Setup) -> Explained:
    """Return the predictions of a model that are explained: of the first test sequences."""
    experiment = setup.experiment
    length, vocab = experiment.length, experiment.generator.vocabulary.size
    count = int(np.clip(_MOST_TOKENS // (length**2 * vocab), _LEAST, _MOST))
    tokens = np.asarray(setup.test)
    if setup.loss_mask is not None:
        tokens = tokens[np.asarray(setup.loss_mask)[:, -1]]
    marginals = token_marginals(experiment.generator, length)
    return Explained(experiment, model, tokens[:count, :-1], marginals)


@fixed_numerics()
def truths_of(explained: Explained) -> Truths:
    """Return both truths of some predictions."""
    process = explained.experiment.generator.at_length(explained.experiment.length)
    tokens = explained.tokens
    before = log_weights(tokens, predictives(process, tokens))[:, -1:]

    def weigh(key: int, changed: Int[np.ndarray, "some length"]) -> np.ndarray:
        after = log_weights(changed, predictives(process, changed))[:, -1:]
        return np.exp(after - np.tile(before, (len(after) // len(before), 1)))

    def exact(changed: Int[np.ndarray, "some length"]) -> np.ndarray:
        return predictives(process, changed)[:, -1:]

    vocab = process.vocabulary.size
    of_model, of_process = (
        effects_of_replacing(each, tokens, vocab, weigh)[:, 0]
        for each in (predictor(explained), exact)
    )
    sources = jax.vmap(process.true_sources)(jnp.asarray(tokens))
    known = is_informative(of_process) if sources is None else np.asarray(sources)[:, -1]
    return Truths(Truth(of_model, is_informative(of_model)), Truth(of_process, known))


def levels(scores: Float[np.ndarray, "*many length"]) -> Float[np.ndarray, "*many length"]:
    """Return sizes relative to the largest of each row, rounded so that near ties are ties."""
    size = np.abs(scores)
    most = size.max(axis=-1, keepdims=True)
    return np.rint(size / np.where(most > 0, most, 1) / _TIE)


def rank_correlation(
    scores: Float[np.ndarray, "sequences length"], truth: Truth
) -> Float[np.ndarray, " sequences"]:
    """Return Spearman's rank correlation of the `levels`, in which ties share their mean rank.

    It is NaN if the truth is the same everywhere, and 0 if the scores are.
    """
    one, other = (_centred_ranks(levels(each)) for each in (scores, truth.size))
    sizes = np.sqrt((one**2).sum(axis=1) * (other**2).sum(axis=1))
    found = (one * other).sum(axis=1) / np.where(sizes > 0, sizes, 1)
    return np.where(truth.size.max(axis=1) > _NO_CHANGE, found, np.nan)


def area_under_curve(
    scores: Float[np.ndarray, "sequences length"], truth: Truth
) -> Float[np.ndarray, " sequences"]:
    """Return how often a position that matters scores above one that does not.

    This is a share of all such pairs; a tie counts one half. It is NaN if all or none matter.
    """
    found, matters = levels(scores), truth.matters
    pairs = matters[:, :, None] & ~matters[:, None, :]
    right = np.sign(found[:, :, None] - found[:, None, :]) / 2 + 0.5
    count = pairs.sum(axis=(1, 2))
    share = (right * pairs).sum(axis=(1, 2)) / np.where(count > 0, count, 1)
    return np.where(count > 0, share, np.nan)


def _centred_ranks(found: Float[np.ndarray, "sequences length"]) -> np.ndarray:
    signs = np.sign(found[:, :, None] - found[:, None, :])
    ranks = signs.sum(axis=2)
    # All equal in truth: no ranking.
    return ranks - ranks.mean(axis=1, keepdims=True)


_OF_SCORE = {"rank": rank_correlation, "auc": area_under_curve}


def explains(model: AbstractModel, setup: Setup, *, method: str, part: str = "") -> Estimate | None:
    """Return how well a method's ranking agrees with a truth, as a mean over sequences.

    Args:
        model: The model whose predictions are explained.
        setup: Its prepared experiment.
        method: A name of `METHODS`.
        part: A key of `PARTS`.

    Returns:
        The mean with its standard error over sequences, without those that have no truth to rank;
        None if the method does not apply, or fewer than two sequences are left. Of several
        rankings, the one that is best on every other sequence is scored on the rest.
    """
    if not can_explain(setup.experiment):
        return None
    truth_name, score_name, is_untrained = PARTS[part]
    truth: Truth = getattr(_truths(_Same(model), _Same(setup)), truth_name)
    reader = setup.state.model if is_untrained else model
    scores = _scores(method, _Same(reader), _Same(setup))
    if scores is None:
        return None
    score = _OF_SCORE[score_name]
    if scores.ndim == 2:
        found = score(scores, truth)
    else:
        each = np.array([score(scores[:, at], truth) for at in range(scores.shape[1])])
        tried, rest = each[:, ::2], each[:, 1::2]
        best = int(np.argmax(np.nan_to_num(tried).sum(axis=1)))
        found = rest[best]
    found = found[np.isfinite(found)]
    return mean_and_error(found) if found.size > 1 else None


def can_explain(experiment: Experiment) -> bool:
    """Return whether the process has a law and no prompt."""
    return experiment.generator.has_law and not experiment.generator.prompt_length()


@dataclasses.dataclass(frozen=True, eq=False)
class _Same:
    """An argument of a cached function that is compared by identity."""

    it: Any

    def __hash__(self):
        return id(self.it)

    def __eq__(self, other: object):
        return isinstance(other, _Same) and self.it is other.it


# The measures of a model share its predictions, truths and rankings.
@functools.lru_cache(maxsize=2)
def _explained(model: _Same, setup: _Same) -> Explained:
    return explained_by(model.it, setup.it)


@functools.lru_cache(maxsize=2)
def _truths(model: _Same, setup: _Same) -> Truths:
    return truths_of(_explained(model, setup))


@functools.lru_cache(maxsize=32)
def _scores(method: str, model: _Same, setup: _Same) -> Scores | None:
    return METHODS[method].of(_explained(model, setup))


def measure_of_method(method: Method, part: str = "") -> Measure:
    """Return the measure of a method, for a key of `PARTS`."""
    truth, score, is_untrained = PARTS[part]
    reads = ", read off the untrained model" * is_untrained
    return Measure(
        f"explains_{method.name}" + f":{part}" * bool(part),
        partial(explains, method=method.name, part=part),
        label=f"{method.label} and {_TRUTHS[truth]}{reads}",
        unit=_SCORES[score],
        summary=f"{_SCORES[score]} of the ranking of positions with {_TRUTHS[truth]}{reads}",
        needs=method.needs or "a process with a law and without a prompt",
        applies=can_explain,
        bounds=(0.0, 1.0) if score == "auc" else (-1.0, 1.0),
    )


EXPLAINS = tuple(map(measure_of_method, METHODS.values()))


def explains_named(name: str) -> Measure | None:
    """Return the measure with a name such as `explains_attention:process.auc`, or None."""
    base, _, part = name.partition(":")
    method = METHODS.get(base.removeprefix("explains_")) if base.startswith("explains_") else None
    return None if method is None or part not in PARTS else measure_of_method(method, part)
