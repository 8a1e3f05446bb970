"""The results of each setting over seeds, and what could have been learned."""

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np

from attnlab.comparisons.grid import Setting
from attnlab.comparisons.intervals import (
    LEVEL,
    Interval,
    share_error,
    student_interval,
    widened,
    wilson_interval,
)
from attnlab.configuration.number_text import show_range
from attnlab.configuration.options import OptionError, choose_one_of, default_of, present
from attnlab.generators import AbstractGenerator
from attnlab.inspection import measure_of
from attnlab.optimum import Best, baselines_of, optimum
from attnlab.runs.differences import differing_settings
from attnlab.runs.run_summary import FIGURES, RunSummary
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.measure import Estimate
from attnlab.training.shares import LearnedShare, learned_share


@dataclasses.dataclass(frozen=True)
class References:
    """Predictors of the final token that need no training.

    `best` is the optimum: its loss is the floor, its accuracy the ceiling. `majority` always
    predicts the distribution of the final token, so its accuracy is that of the most common token;
    `linear` is the linear predictor of lowest loss. Both are None if not requested.
    """

    best: Best
    uniform: Best
    majority: Best | None = None
    linear: Best | None = None


def references_of(
    generator: AbstractGenerator, length: int, *, baselines: bool = True, most: int | None = None
) -> References:
    """Return the references of a process at `length` visible positions.

    `most` is as in `optimum`. `baselines` adds `majority` and `linear`; for a new process this
    takes up to about ten seconds, mostly for the linear predictor.
    """
    vocab = generator.vocabulary.size
    best, uniform = optimum(generator, length, most).final, Best(float(np.log(vocab)), 1 / vocab)
    if not baselines:
        return References(best, uniform)
    known = {each.name: each.best for each in baselines_of(generator, length, most)}
    return References(best, uniform, known["unigram"], known.get("linear"))


TARGET = 0.9
# Results that the references have, too.
OF_REFERENCES = ("accuracy", "nll", "learned")
# A run within this many standard errors of a level counts as having reached it.
_WITHIN = 2.0


@dataclasses.dataclass(frozen=True)
class Unfinished:
    """A run without a result, and the reason; `seed` is None if the setting is rejected."""

    seed: int | None
    state: str
    reason: str


@dataclasses.dataclass(frozen=True)
class StepsToTarget:
    """The steps that runs took to learn the share `target` of what can be learned.

    `reached` of `n` runs learned it, as far as their tests show. `median` is the median step of the
    first test at or above the target, or None unless more than half of the runs reached it.
    """

    target: float
    median: float | None
    reached: int
    n: int


@dataclasses.dataclass(frozen=True)
class Reached:
    """How many of `n` runs reached a level at their end, and the Wilson interval of that share.

    The level is `target` of the way from a uniform guess to the best possible; for an exact match
    it is `target` itself. A run up to two standard errors of its test below the level counts.
    """

    target: float
    runs: int
    share: Interval

    @property
    def n(self) -> int:
        """The number of runs."""
        return self.share.n


@dataclasses.dataclass(frozen=True)
class Row:
    """The results of a setting.

    `results` are ordered by seed, one for each. Numbers are over finished runs only, so show
    `unfinished` with them: without it, a setting whose runs diverge looks better than it is.
    `accuracy`, `nll` (nats) and `learned` are means over seeds, None without a finished run;
    `learned` is also None if there is nothing to learn, and `exact_match` and `mean_nll` unless all
    finished runs have one. `seconds` is the mean training time. `references` are None if
    the setting is rejected or they are not known yet, and so are `learned`, `to_target` and
    `reached`. `reached` uses the exact match for a task, otherwise the share learned. `metrics` are
    means of the caller's metrics at the last step.
    """

    setting: Setting
    results: tuple[RunSummary, ...] = ()
    references: References | None = None
    accuracy: Interval | None = None
    nll: Interval | None = None
    mean_nll: Interval | None = None
    learned: Interval | None = None
    exact_match: Interval | None = None
    parameters: int | None = None
    seconds: float | None = None
    to_target: StepsToTarget | None = None
    reached: Reached | None = None
    metrics: dict[str, Interval] = dataclasses.field(default_factory=dict)

    def __repr__(self) -> str:
        """Return one line: the setting, how many seeds have results, and means with intervals."""
        found = [f"{len(self.finished)} of {len(self.results)} seeds"]
        for name, unit in (("accuracy", ""), ("nll", " nats"), ("learned", "")):
            if (interval := getattr(self, name)) is not None:
                between = interval.low is not None and f" ({show_range(*interval.ends)})"
                found.append(f"{name} {interval.mean:.3f}{between or ''}{unit}")
        if self.setting.experiment is None:
            found = [self.setting.problem]
        label = ", ".join(f"{name}={value}" for name, value in self.setting.options)
        if not label and self.setting.experiment is not None:
            label = f"{self.experiment.generator.name}, {self.experiment.model.name}"
        return f"{type(self).__name__}({label}: {', '.join(found)})"

    @property
    def experiment(self) -> Experiment:
        """The experiment of a setting that is not rejected."""
        return present(self.setting.experiment)

    @property
    def finished(self) -> tuple[RunSummary, ...]:
        """Return the runs that have results."""
        return tuple(result for result in self.results if _is_finished(result))

    @property
    def unfinished(self) -> tuple[Unfinished, ...]:
        """Return the runs without results, or the rejected setting itself."""
        if self.setting.experiment is None:
            return (Unfinished(None, "refused", self.setting.problem),)
        return tuple(
            Unfinished(result.experiment.seed, result.state, result.reason or "no finite test loss")
            for result in self.results
            if not _is_finished(result)
        )


def summarise(
    results: Iterable[RunSummary],
    settings: Sequence[Setting] = (),
    *,
    level: float = LEVEL,
    target: float = TARGET,
    baselines: bool = True,
    most: int | None = None,
    references: Callable[[Experiment], References | None] | None = None,
) -> tuple[Row, ...]:
    """Group results by setting, without the seed, and return a row for each, in order.

    Results of other settings have their rows at the end, in order of arrival; these settings are
    named by their differences. Of several results of one run, the last finished one is used.
    `baselines` and `most` are as in `references_of`. If given, the function `references` returns
    the references of an experiment, or None if they are not known yet. Intervals have the level
    `level`; `target` is that of `StepsToTarget`.
    """
    grouped: dict[Hashable, dict[int, RunSummary]] = {}
    for result in results:
        runs = grouped.setdefault(_all_but_seed(result.experiment), {})
        before = runs.get(result.experiment.seed)
        if before is None or _is_finished(result) or not _is_finished(before):
            runs[result.experiment.seed] = result
    keys = [s.experiment and _all_but_seed(s.experiment) for s in settings]
    rest = {key: runs for key, runs in grouped.items() if key not in set(keys)}
    rows = []
    known: dict[Hashable, References | None] = {}
    named = _named([next(iter(runs.values())).experiment for runs in rest.values()])
    for setting, key in zip([*settings, *named], [*keys, *rest], strict=True):
        experiment = setting.experiment
        if experiment is None:
            rows.append(Row(setting))
            continue
        process = experiment.generator, experiment.length
        if process not in known:
            known[process] = (
                references_of(*process, baselines=baselines, most=most)
                if references is None
                else references(experiment)
            )
        of_setting = grouped.get(key, {})
        ordered = tuple(of_setting[seed] for seed in sorted(of_setting))
        rows.append(_row(setting, ordered, known[process], level, target))
    return tuple(rows)


def interval_of(row: Row, figure: str) -> Interval | None:
    """Return a result in `FIGURES`, or a metric, over seeds; None if the row has no such result."""
    return getattr(row, figure) if figure in FIGURES else row.metrics.get(figure)


def figures_of(row: Row, figure: str) -> dict[int, float]:
    """Return a result in `FIGURES`, or a metric at the last step, of every finished run, by seed.

    Raises:
        OptionError: If it is not in `FIGURES`, if nothing can be learned but the share learned is
            requested, or if not all runs have the result.
    """
    return {seed: estimate.value for seed, estimate in _estimates(row, figure).items()}


def errors_of(row: Row, figure: str) -> dict[int, float]:
    """Return the standard errors of `figures_of` over the test of each run, by seed.

    They are 0 for a metric, whose error is not known.

    Raises:
        OptionError: As in `figures_of`.
    """
    return {seed: estimate.stderr for seed, estimate in _estimates(row, figure).items()}


def reached_of(row: Row, figure: str = "learned", target: float = TARGET) -> Reached | None:
    """Return how many finished runs reached `target`, or None if unknown.

    It is unknown without a finished run or references, if nothing can be learned, and if two
    standard errors of a test are more than half of the way to `target`; also for metrics.
    """
    known = row.references
    if figure not in (*OF_REFERENCES, "exact_match") or interval_of(row, figure) is None:
        return None
    if known is None and figure != "exact_match":
        return None
    values, errors = np.transpose(list(_estimates(row, figure).values()))
    start, end = 0.0, 1.0
    if known is not None and figure in ("nll", "accuracy"):
        start, end = getattr(known.uniform, figure), getattr(known.best, figure)
    if start == end:
        return None
    shares, margins = (values - start) / (end - start), _WITHIN * errors / abs(end - start)
    if margins.max() > target / 2:
        return None
    runs = int((shares >= target - margins).sum())
    return Reached(target, runs, wilson_interval(runs, len(values)))


def beyond_best(row: Row, figure: str) -> list[float]:
    """Return how much better than the best possible each finished run is, in standard errors.

    The error is that of the run's test, combined with that of the best possible if it is estimated.
    Such a result is sampling error: no model is better on average. The list is empty for an exact
    match and for metrics, and where the row has no such result or the best possible is not known.
    """
    if row.references is None or figure not in OF_REFERENCES or interval_of(row, figure) is None:
        return []
    best, limit, stderr = row.references.best, 1.0, 0.0
    if figure != "learned":
        limit, stderr = getattr(best, figure), getattr(best, f"{figure}_stderr")
    values, errors = np.transpose(list(_estimates(row, figure).values()))
    better, errors = limit - values if figure == "nll" else values - limit, np.hypot(errors, stderr)
    return (better[errors > 0] / errors[errors > 0]).tolist()


# Why not all runs may have a result, and what to do.
_LACKING = {
    "exact_match": (
        "defined only for tasks, and some of these runs have none", "Choose 'nll' or 'accuracy'"
    ),
    "mean_nll": (
        "some of these runs were tested only at their final position",
        "Choose 'nll', or train with `next`",
    ),
    "learned": (
        "a uniform guess is optimal, so nothing can be learned", "Choose 'nll' or 'accuracy'"
    ),
}  # fmt: skip


def _estimates(row: Row, figure: str) -> dict[int, Estimate]:
    """Return a result of every finished run, by seed."""
    metrics = _metrics_of(row)
    if figure not in (*FIGURES, *metrics):
        remedy = choose_one_of([*FIGURES, *metrics], figure)
        raise OptionError("figure", figure, "not a figure", remedy)
    if figure == "learned" and row.references is None:
        problem = "the share learned needs the best possible loss, which is still being computed"
        raise OptionError("figure", figure, problem, "Wait, or choose 'nll' or 'accuracy'")
    found = {run.experiment.seed: _estimate(run, figure, row) for run in row.finished}
    known = {seed: estimate for seed, estimate in found.items() if estimate is not None}
    if len(known) < len(found):
        problem = "some of these runs were not tested", "Choose another result"
        raise OptionError("figure", figure, *_LACKING.get(figure, problem))
    return known


def _estimate(run: RunSummary, figure: str, row: Row) -> Estimate | None:
    if figure in run.metrics:
        return Estimate(run.metrics[figure][-1][1], 0.0)
    if figure == "exact_match":
        if (share := run.exact_match) is None:
            return None
        return Estimate(share, share_error(share, row.experiment.training.test_size))
    if (test := run.evaluation) is None:
        return None
    if figure == "mean_nll":
        of = test.by_position
        return None if of is None else Estimate(of.mean, of.mean_stderr)
    if figure == "learned":
        return None if (share := _share(test, row)) is None else Estimate(*share)
    return Estimate(getattr(test, figure), getattr(test, f"{figure}_stderr"))


def _metrics_of(row: Row) -> list[str]:
    """Return the names of the metrics that all finished runs have."""
    runs = row.finished
    names = runs[0].metrics if runs else ()
    return [name for name in names if all(name in run.metrics for run in runs)]


def _row(
    setting: Setting,
    results: tuple[RunSummary, ...],
    references: References | None,
    level: float,
    target: float,
) -> Row:
    row = Row(setting, results, references)
    if not row.finished:
        return row
    found = {name: _over_seeds(row, name, level) for name in (*FIGURES, *_metrics_of(row))}
    row = dataclasses.replace(
        row,
        **{name: found.pop(name) for name in FIGURES},
        metrics=found,
        parameters=row.finished[0].parameters,
        seconds=float(np.mean([run.seconds for run in row.finished])),
        to_target=_steps_to(row, target),
    )
    goal = "learned" if row.exact_match is None else "exact_match"
    return dataclasses.replace(row, reached=reached_of(row, goal, target))


def _over_seeds(row: Row, figure: str, level: float) -> Interval | None:
    """Return a result over seeds, None if not all runs have it.

    That of the share learned includes the common error of an estimated floor.
    """
    try:
        values, errors = zip(*_estimates(row, figure).values(), strict=True)
    except OptionError:
        return None
    is_share = figure in ("accuracy", "exact_match")
    found = student_interval(values, level, errors=errors, share=is_share)
    if figure == "learned":
        references = present(row.references)
        best, span = references.best, references.uniform.nll - references.best.nll
        # The floor is not part of an excess, only of the span that it is divided by.
        paired = all(present(run.evaluation).excess is not None for run in row.finished)
        moved = abs(1 - found.mean) if paired else abs(found.mean)
        found = widened(found, moved * best.nll_stderr / span, level)
    measure = measure_of(figure)
    return found if measure is None else found.within(*measure.bounds)


def _steps_to(row: Row, target: float) -> StepsToTarget | None:
    tested = [run for run in row.finished if run.tests]
    if row.references is None or not tested or _share(tested[0].evaluation, row) is None:
        return None
    steps = []
    for run in tested:
        tests = sorted({**dict(run.tests), run.steps: run.evaluation}.items())
        passed = (step for step, test in tests if present(_share(test, row)).share >= target)
        steps.append(next(passed, np.inf))
    median = float(np.median(steps))
    count = int(np.isfinite(steps).sum())
    return StepsToTarget(target, median if np.isfinite(median) else None, count, len(tested))


def _share(test: Evaluation | None, row: Row) -> LearnedShare | None:
    vocab = row.experiment.generator.vocabulary.size
    return learned_share(present(test), present(row.references).best, vocab)


def _is_finished(result: RunSummary) -> bool:
    # A shipped run may have other results than a test.
    test = result.evaluation
    return result.state == "done" and (test is None or bool(np.isfinite(test.nll)))


def _all_but_seed(experiment: Experiment) -> Hashable:
    # Hashing the JSON of an experiment would take many times as long.
    return experiment.generator, experiment.length, experiment.model, experiment.training


def _named(experiments: Sequence[Experiment]) -> list[Setting]:
    """Return settings of experiments, named by their differences."""
    seed = default_of(Experiment, "seed")
    plain = [dataclasses.replace(experiment, seed=seed) for experiment in experiments]
    columns = differing_settings(plain)
    return [
        Setting(
            tuple((name, texts[i]) for name, texts in columns.items() if texts[i] != "–"),
            experiment,
        )
        for i, experiment in enumerate(plain)
    ]
