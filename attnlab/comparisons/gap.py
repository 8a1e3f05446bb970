"""The parts of the gap between a loss and the floor."""

import dataclasses
from collections.abc import Hashable, Iterable, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float

from attnlab.comparisons.intervals import (
    LEVEL,
    Interval,
    exactly,
    normal_quantile,
    student_interval,
    widened,
)
from attnlab.comparisons.paired import common_seeds
from attnlab.comparisons.summary import Row, errors_of, figures_of
from attnlab.configuration.options import OptionError, default_of, present
from attnlab.optimum import Best
from attnlab.training.experiment import Experiment
from attnlab.training.limits import reachable_by
from attnlab.training.steps import Training

PARTS = MappingProxyType(
    {
        "model": "what the model cannot express",
        "training": "what training missed",
        "data": "what the limited training set costs",
    }
)
_FEWEST = 2


@dataclasses.dataclass(frozen=True)
class Term:
    """A part of the gap in nats or, if single parts are not known, the sum of several `parts`."""

    parts: tuple[str, ...]
    nats: Interval


@dataclasses.dataclass(frozen=True)
class Gap:
    """The gap loss − floor over seeds, in nats, as a sum of terms.

    Each of `PARTS` is in one term. The means of the terms sum to the mean of `total`; each interval
    is for its term alone. The model's part is at least `model_at_least` and at most
    `model_at_most`; each bound is correct with probability `LEVEL` or more.
    """

    total: Interval
    terms: tuple[Term, ...]
    model_at_least: float
    model_at_most: float


def gap_of(row: Row, rows: Iterable[Row] = ()) -> Gap:
    """Return the gap of a setting, using the other `rows` that were run.

    `model`: r − floor, where r is the lowest loss that the model can reach with any weights. It is
    exact if the model `attains_reachable` and r is not sampled, as for `linear` on small processes.
    Otherwise it is bounded: from below by what the model cannot see, from above by its best run
    with any training. The upper bound is the lowest of the upper confidence limits of all its test
    losses, each at 1 - (1 - LEVEL)/k for k of them (Bonferroni), since the best of many is also the
    luckiest.

    `data`: mean loss with the fixed training set − mean loss with fresh sequences, all else equal,
    paired over two or more seeds that both have finished; the gap is then over these seeds. It is
    negative if fresh sequences did worse. It is unknown without such `rows`, and 0 for runs with
    fresh sequences. The fresh counterpart of a full batch is a batch of that size.

    `training`: the rest, the mean loss with fresh sequences − r. With endless data, training might
    reach r but not go below it; values below 0 are test noise.

    Intervals are Student's over seeds. Their spread includes the errors of the tests, since each
    seed has a separate test set; the error of an estimated floor is added (`widened`). Raises
    `OptionError` for a setting without a finished run.
    """
    if not row.finished:
        raise OptionError("seeds", 0, "no run of the setting is finished", "Run it first")
    rows = tuple(rows)
    experiment, floor = row.experiment, present(row.references).best
    fixed = experiment.training.data == "fixed"
    fresh = _fresh_counterpart(row, rows) if fixed else row
    seeds = common_seeds(row, row if fresh is None else fresh)
    losses = _losses(row, seeds)
    of_tests = errors_of(row if fresh is None else fresh, "nll")
    errors = [of_tests[seed] for seed in seeds]

    def above_floor(values: Float[np.ndarray, " seeds"]) -> Interval:
        over_seeds = student_interval(values, errors=errors)
        return widened(over_seeds.plus(-floor.nll), floor.nll_stderr)

    reachable = reachable_by(experiment)
    least = None
    if reachable is not None and reachable.exact and experiment.model.attains_reachable:
        least = reachable.nll
    # The loss with fresh data, or the loss itself if that is not known.
    trained = losses if fresh is None else _losses(fresh, seeds)
    parts = ("training",) if fresh is not None else ("training", "data")
    if least is None:
        terms = [Term(("model", *parts), above_floor(trained))]
    else:
        of_model = widened(exactly(least - floor.nll), floor.nll_stderr)
        beyond = student_interval(trained, errors=errors).plus(-least)
        terms = [Term(("model",), of_model), Term(parts, beyond)]
    if not fixed:
        terms.append(Term(("data",), exactly(0.0)))
    elif fresh is not None:
        terms.append(Term(("data",), student_interval(losses - trained)))
    at_least, at_most = _model_bounds(row, rows, reachable)
    return Gap(above_floor(losses), tuple(terms), at_least, at_most)


def _model_bounds(row: Row, rows: Sequence[Row], reachable: Best | None) -> tuple[float, float]:
    floor, experiment = present(row.references).best, row.experiment
    runs: dict[Experiment, Any] = {run.experiment: run.evaluation for run in row.finished}
    for other in rows:
        if other.finished and _expressible(other.experiment) == _expressible(experiment):
            runs |= {run.experiment: run.evaluation for run in other.finished}
    found = list(runs.values())
    if reachable is not None and experiment.model.attains_reachable:
        found.append(reachable)
    # An estimated floor is one more quantity that must be within its limit.
    statements = len(found) + (floor.nll_stderr > 0)
    if reachable is not None and reachable.exact:
        margin = normal_quantile(LEVEL) * floor.nll_stderr
        at_least = max(0.0, reachable.nll - floor.nll - margin)
    else:
        at_least = 0.0
    far = normal_quantile(1 - (1 - LEVEL) / statements)
    limit = min(test.nll + far * test.nll_stderr for test in found)
    # By chance a test may be better than possible.
    return at_least, max(at_least, limit - floor.nll + far * floor.nll_stderr)


def _expressible(experiment: Experiment) -> Hashable:
    """Return everything that determines which predictions a model can express."""
    return (
        experiment.generator, experiment.length, experiment.model, experiment.read_position,
    )  # fmt: skip


def _fresh_counterpart(row: Row, rows: Sequence[Row]) -> Row | None:
    wanted = _with_fresh_data(row.experiment)
    for other in rows:
        experiment = other.setting.experiment
        if experiment is not None and experiment.training.data == "fresh":
            same = _with_fresh_data(experiment) == wanted
            if same and len(common_seeds(row, other)) >= _FEWEST:
                return other
    return None


def _with_fresh_data(experiment: Experiment) -> Experiment:
    training = experiment.training
    full = training.batch_mode == "full"
    changed = dataclasses.replace(
        training,
        data="fresh",
        batch_mode="minibatch",
        batch=training.train_size if full else training.batch,
        train_size=default_of(Training, "train_size"),
    )
    return dataclasses.replace(experiment, training=changed, seed=0)


def _losses(row: Row, seeds: Sequence[int]) -> Float[np.ndarray, " seeds"]:
    each = figures_of(row, "nll")
    return np.array([each[seed] for seed in seeds])
