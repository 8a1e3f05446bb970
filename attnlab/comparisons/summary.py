"""A row for every setting: its figures over seeds, what they are held against, what is missing."""

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import MappingProxyType

import numpy as np

from attnlab.comparisons.grid import Setting
from attnlab.comparisons.intervals import LEVEL, Interval, student_interval, widened
from attnlab.comparisons.references import References, references_of
from attnlab.configuration.options import OptionError, default_of
from attnlab.runs.differences import differing_settings
from attnlab.runs.result import Result
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.learned_share import learned_share

TARGET = 0.9
# What a run is judged by.
FIGURES = MappingProxyType(
    {
        "accuracy": "share of right predictions in the test",
        "nll": "test loss, in nats",
        "learned": "share of what can be learned",
        "exact_match": "share of targets written without a mistake",
    }
)


@dataclasses.dataclass(frozen=True)
class Unfinished:
    """A run that has no figure, and why; without a seed, where its setting is refused."""

    seed: int | None
    state: str
    reason: str


@dataclasses.dataclass(frozen=True)
class StepsToTarget:
    """When runs had learned the share `target` of what can be learned.

    `reached` of `n` runs did, as far as they were tested. `median` is the middle of the steps of
    their first test at or above the target, and None where that is of a run that never was.
    """

    target: float
    median: float | None
    reached: int
    n: int


@dataclasses.dataclass(frozen=True)
class Row:
    """What the runs of a setting came to.

    `results` are in the order of seeds, one a seed. Figures are those of finished runs alone, so
    that `unfinished` belongs beside them: a setting whose runs diverge looks better by those that
    do not. `accuracy`, `nll` (nats) and `learned` are means over seeds, None without a finished
    run; `learned` is None, too, where there is nothing to learn, and `exact_match` where not all of
    the finished runs are known to have one, as those of a task have. `seconds` are the mean of the
    seconds of training. `references` are None where the setting is refused or they are not known
    yet, and with them `learned` and `to_target`.
    """

    setting: Setting
    results: tuple[Result, ...] = ()
    references: References | None = None
    accuracy: Interval | None = None
    nll: Interval | None = None
    learned: Interval | None = None
    exact_match: Interval | None = None
    parameters: int | None = None
    seconds: float | None = None
    to_target: StepsToTarget | None = None

    @property
    def finished(self) -> tuple[Result, ...]:
        """The runs that have figures."""
        return tuple(result for result in self.results if _is_finished(result))

    @property
    def unfinished(self) -> tuple[Unfinished, ...]:
        """The runs that have none; of a refused setting itself."""
        if self.setting.experiment is None:
            return (Unfinished(None, "refused", self.setting.problem),)
        return tuple(
            Unfinished(result.experiment.seed, result.state, result.reason or "no finite test loss")
            for result in self.results
            if not _is_finished(result)
        )


def summarise(
    results: Iterable[Result],
    settings: Sequence[Setting] = (),
    *,
    level: float = LEVEL,
    target: float = TARGET,
    baselines: bool = True,
    most: int | None = None,
    references: Callable[[Experiment], References | None] | None = None,
) -> tuple[Row, ...]:
    """The results grouped by all but the seed: a row for each of the settings, in their order.

    Results of none of these have their rows behind them, in the order in which they came; their
    settings are named by what differs between them. Of several results of one run the last
    finished one counts. `baselines` and `most` are as in `references_of`, unless `references` gives
    them, or None where they are not known yet, without waiting. Intervals hold with probability
    `level`; `target` is that of `StepsToTarget`.
    """
    grouped: dict[Hashable, dict[int, Result]] = {}
    for result in results:
        runs = grouped.setdefault(_all_but_seed(result.experiment), {})
        before = runs.get(result.experiment.seed)
        if before is None or _is_finished(result) or not _is_finished(before):
            runs[result.experiment.seed] = result
    keys = [s.experiment and _all_but_seed(s.experiment) for s in settings]
    asked = set(keys)
    rest = {key: runs for key, runs in grouped.items() if key not in asked}
    rows = []
    known: dict[Hashable, References] = {}
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


def figures_of(row: Row, figure: str) -> dict[int, float]:
    """A figure of `FIGURES` of every finished run, by seed.

    Refused, with an `OptionError`: a figure that is not one, what was learned where there is
    nothing to learn, and the exact match where not all runs are known to have one.
    """
    if figure not in FIGURES:
        choices = ", ".join(f"'{name}'" for name in FIGURES)
        raise OptionError("figure", figure, "not a figure", f"Choose one of {choices}")
    if figure == "exact_match":
        matches = {run.experiment.seed: run.exact_match for run in row.finished}
        if None in matches.values():
            problem = "of tasks alone, and some of these runs have none"
            raise OptionError("figure", figure, problem, "Choose 'nll' or 'accuracy'")
        return matches
    if figure != "learned":
        return {run.experiment.seed: getattr(run.evaluation, figure) for run in row.finished}
    shares = {run.experiment.seed: _share(run.evaluation, row) for run in row.finished}
    if None in shares.values():
        problem = "a uniform guess is the best there is, so that nothing can be learned"
        raise OptionError("figure", figure, problem, "Choose 'nll' or 'accuracy'")
    return shares


def _row(
    setting: Setting,
    results: tuple[Result, ...],
    references: References | None,
    level: float,
    target: float,
) -> Row:
    row = Row(setting, results, references)
    tests = [run.evaluation for run in row.finished]
    if not tests:
        return row
    return dataclasses.replace(
        row,
        accuracy=student_interval([test.accuracy for test in tests], level).within(0.0, 1.0),
        nll=student_interval([test.nll for test in tests], level),
        learned=_learned(row, level),
        exact_match=_exact_match(row, level),
        parameters=row.finished[0].parameters,
        seconds=float(np.mean([run.seconds for run in row.finished])),
        to_target=_steps_to(row, target),
    )


def _exact_match(row: Row, level: float) -> Interval | None:
    shares = [run.exact_match for run in row.finished]
    return None if None in shares else student_interval(shares, level).within(0.0, 1.0)


def _learned(row: Row, level: float) -> Interval | None:
    """Over seeds, and with the error of an estimated floor, which all of them share."""
    if row.references is None:
        return None
    shares = [_share(run.evaluation, row) for run in row.finished]
    if None in shares:
        return None
    over_seeds = student_interval(shares, level)
    best = row.references.best
    span = row.references.uniform.nll - best.nll
    return widened(over_seeds, abs(over_seeds.mean) * best.nll_stderr / span, level)


def _steps_to(row: Row, target: float) -> StepsToTarget | None:
    tested = [run for run in row.finished if run.tests]
    if row.references is None or not tested or _share(tested[0].evaluation, row) is None:
        return None
    uniform, floor = row.references.uniform.nll, row.references.best.nll
    loss = uniform - target * (uniform - floor)
    steps = []
    for run in tested:
        tests = sorted({**dict(run.tests), run.steps: run.evaluation}.items())
        steps.append(next((step for step, test in tests if test.nll <= loss), np.inf))
    median = float(np.median(steps))
    count = int(np.isfinite(steps).sum())
    return StepsToTarget(target, median if np.isfinite(median) else None, count, len(tested))


def _share(test: Evaluation, row: Row) -> float | None:
    vocab = row.setting.experiment.generator.vocabulary.size
    found = learned_share(test, row.references.best, vocab)
    return None if found is None else found.share


def _is_finished(result: Result) -> bool:
    test = result.evaluation
    return result.state == "done" and test is not None and bool(np.isfinite(test.nll))


def _all_but_seed(experiment: Experiment) -> Hashable:
    # Their identities say the same, in many times the time.
    return experiment.generator, experiment.length, experiment.model, experiment.training


def _named(experiments: Sequence[Experiment]) -> list[Setting]:
    """Settings of experiments, named by what differs between them."""
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
