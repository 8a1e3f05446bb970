"""Published results as claims about numbers of runs, and the rule of their verdicts."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from attnlab.comparisons.intervals import Interval, student_interval, wilson_interval
from attnlab.comparisons.recording import Metric
from attnlab.inspection import MEASURES
from attnlab.runs.run_summary import RunSummary
from attnlab.training.experiment import Experiment
from attnlab.training.measure import SHARE as SHARE

AGREES, DISAGREES, OPEN = "agrees", "disagrees", "undecided"

# The value of each measure by seed, for each setting of a known result.
Numbers = Mapping[str, Mapping[str, Mapping[int, float]]]
_HALF = 0.5
# Turns the values of a metric, in the order of steps, into one number.
OverTraining = Callable[[list[float]], float]


@dataclasses.dataclass(frozen=True)
class Check:
    """A claim about one number of every run: it lies between `least` and `most`.

    Attributes:
        claim: The claim in a few words.
        setting: The setting whose runs it is about.
        measure: The number: a result of every run, such as `accuracy`, or a metric.
        least: The smallest number that agrees with the claim.
        most: The largest one.
        minus: A setting whose number with the same seed is subtracted, or "".
        published: The number in the publication, if it has one.
    """

    claim: str
    setting: str
    measure: str
    least: float = -math.inf
    most: float = math.inf
    minus: str = ""
    published: float | None = None

    def numbers(self, of: Numbers) -> dict[int, float]:
        """Return the number that the claim is about, by seed, for the seeds that have one."""
        found = dict(of.get(self.setting, {}).get(self.measure, {}))
        if not self.minus:
            return found
        other = of.get(self.minus, {}).get(self.measure, {})
        return {seed: found[seed] - other[seed] for seed in found if seed in other}


class Verdict(NamedTuple):
    """What the runs say about a claim.

    Attributes:
        check: The claim.
        numbers: Its number in every run, by seed.
        mean: Mean of the numbers with Student's interval, which is too narrow if some runs got
            stuck; None without runs.
        within: How many numbers lie in the claimed range.
        share: The share of such runs with Wilson's interval; None without runs.
        says: `agrees`, `disagrees` or `undecided`.
    """

    check: Check
    numbers: Mapping[int, float]
    mean: Interval | None
    within: int
    share: Interval | None
    says: str


def verdict_on(
    check: Check, of: Numbers, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> Verdict:
    """Return the verdict on a claim: whether most runs lie in the claimed range.

    Let s be the share of all runs of the setting, over all seeds, in the range. The claim agrees
    if Wilson's 95 % interval of s is above 1/2, and disagrees if it is below 1/2. Otherwise it is
    undecided. The rule holds for numbers of any distribution, so a few stuck runs among many
    do not mislead it. With five seeds all must be inside to agree. The interval of the mean is cut
    at `bounds`, beyond which the measure has no values.

    References:
        Wilson (1927), "Probable inference, the law of succession, and statistical inference".
    """
    numbers = check.numbers(of)
    if not numbers:
        return Verdict(check, numbers, None, 0, None, OPEN)
    within = sum(check.least <= number <= check.most for number in numbers.values())
    share = wilson_interval(within, len(numbers))
    low, high = share.ends
    says = AGREES if low > _HALF else DISAGREES if high < _HALF else OPEN
    low, high = bounds if not check.minus else (bounds[0] - bounds[1], bounds[1] - bounds[0])
    mean = student_interval([*numbers.values()]).within(low, high)
    return Verdict(check, numbers, mean, within, share, says)


def overall(verdicts: Iterable[Verdict]) -> str:
    """Return the verdict on a result: the worst of the verdicts on its claims.

    `disagrees` is worse than `undecided`, which is worse than `agrees`.
    """
    found = {verdict.says for verdict in verdicts}
    return next(says for says in (DISAGREES, OPEN, AGREES) if says in found)


class Plot(NamedTuple):
    """A plot of one shipped run, as plain numbers, drawn by `charts.plot_chart`.

    Attributes:
        title: What it shows.
        look: `line`, one for each name, over a logarithmic axis; `bar`; or `name`, a square in
            which each point is drawn as its name.
        x: The title of the horizontal axis.
        y: That of the vertical axis.
        points: Name, x and y of each point.
    """

    title: str
    look: str
    x: str
    y: str
    points: tuple[tuple[str, float, float], ...]


@dataclasses.dataclass(frozen=True)
class KnownResult:
    """A published result, and the runs that test it here.

    The claims are fixed before the shown runs are made. Settings may have been tuned on other seeds
    only, which are named.

    Attributes:
        name: Its name on the command line.
        title: A few words.
        claim: What was published, in one sentence.
        source: Authors, year and title.
        settings: The experiments by label; their seeds are replaced.
        checks: The claims about their runs.
        metrics: Measures that not every run has, by name. They are computed at the last step.
        checkpoints: Steps at which they are computed too.
        over_training: How the number of a run follows from a metric's values at these steps, by
            metric; by default it is the last value.
        bounds: The least and the largest value that a metric can have, if there are any.
        published: The published number of the first claim's measure, by setting, where the claims
            have none.
        plots: Yields the plots of a run. Those of the first run of the first setting are
            shipped.
        predicted: What theory says before any run, or "".
        differs: How the setting differs from the published one, or "".
        first_seed: The runs have this seed and the following ones.
        seeds: Number of seeds of the shipped runs.
        tuned_on: Seeds on which the settings were chosen.
    """

    name: str
    title: str
    claim: str
    source: str
    settings: Mapping[str, Experiment]
    checks: tuple[Check, ...]
    metrics: Mapping[str, Metric] = dataclasses.field(default_factory=dict)
    checkpoints: tuple[int, ...] = ()
    over_training: Mapping[str, OverTraining] = dataclasses.field(default_factory=dict)
    bounds: Mapping[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    published: Mapping[str, float] = dataclasses.field(default_factory=dict)
    plots: Callable[[RunSummary], Iterable[Plot]] = lambda _: ()
    predicted: str = ""
    differs: str = ""
    first_seed: int = 10
    seeds: int = 5
    tuned_on: tuple[int, ...] = ()

    def runs(self, seeds: int) -> tuple[Experiment, ...]:
        """Return the runs of every setting with `seeds` seeds, from the first one."""
        span = range(self.first_seed, self.first_seed + seeds)
        return tuple(
            dataclasses.replace(experiment, seed=seed)
            for experiment in self.settings.values()
            for seed in span
        )

    @property
    def recording(self) -> dict[str, Any]:
        """The arguments of `run_all` by which runs get all their measures."""
        checkpoints = self.checkpoints if self.metrics else None
        return {"metrics": self.metrics, "checkpoints": checkpoints}

    def setting_of(self, experiment: Experiment) -> str | None:
        """Return the label of the setting that an experiment has, with any seed, or None."""
        labels = {dataclasses.replace(each, seed=0): name for name, each in self.settings.items()}
        return labels.get(dataclasses.replace(experiment, seed=0))

    def numbers_of(self, results: Iterable[RunSummary]) -> Numbers:
        """Return the numbers that the claims are about, from results of the runs.

        Runs that are not finished have no numbers.
        """
        measures = {check.measure for check in self.checks}
        found = {name: {measure: {} for measure in measures} for name in self.settings}
        for result in results:
            label = self.setting_of(result.experiment)
            if label is None or result.state != "done" or result.evaluation is None:
                continue
            for measure in measures:
                if (number := self._number(result, measure)) is not None:
                    found[label][measure][result.experiment.seed] = number
        return found

    def first(self, seeds: int, of: Numbers) -> Numbers:
        """Return the numbers of the first `seeds` seeds only."""
        end = self.first_seed + seeds
        return {
            setting: {
                measure: {seed: number for seed, number in by_seed.items() if seed < end}
                for measure, by_seed in each.items()
            }
            for setting, each in of.items()
        }

    def verdicts(self, of: Numbers) -> tuple[Verdict, ...]:
        """Return the verdict on every claim."""
        bounds = {name: measure.bounds for name, measure in MEASURES.items()} | dict(self.bounds)
        none = -math.inf, math.inf
        return tuple(verdict_on(each, of, bounds.get(each.measure, none)) for each in self.checks)

    def _number(self, result: RunSummary, measure: str) -> float | None:
        if measure in result.metrics:
            values = [value for _, value in result.metrics[measure]]
            return self.over_training.get(measure, lambda each: each[-1])(values)
        return getattr(result if measure == "exact_match" else result.evaluation, measure)
