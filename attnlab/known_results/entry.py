"""Published results as claims about numbers of runs, and the rule of their verdicts."""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import NamedTuple

from attnlab.comparisons.grid import Study
from attnlab.comparisons.intervals import Interval, student_interval, wilson_interval
from attnlab.comparisons.shipped import shipped
from attnlab.configuration.number_text import show_range
from attnlab.configuration.options import present
from attnlab.inspection import measure_label, measure_of
from attnlab.known_results.over_training import NUMBERS
from attnlab.runs.run_summary import RunSummary
from attnlab.training.experiment import Experiment

AGREES, DISAGREES, OPEN = "agrees", "disagrees", "undecided"

# The value of each measure by seed, for each setting of a known result.
Numbers = Mapping[str, Mapping[str, Mapping[int, float]]]
_HALF = 0.5


@dataclasses.dataclass(frozen=True)
class Check:
    """A claim about one number of every run: it lies between `least` and `most`.

    Attributes:
        claim: The claim in a few words.
        setting: The setting whose runs it is about.
        measure: The number: the name of a measure, or a key of `NUMBERS`.
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

    @property
    def label(self) -> str:
        """The name of the number on screen."""
        name = number_label(self.measure)
        return f"difference in {name}" if self.minus else name

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest value that the number can have."""
        found = NUMBERS.get(self.measure) or measure_of(self.measure)
        low, high = (-math.inf, math.inf) if found is None else found.bounds
        return (low - high, high - low) if self.minus else (low, high)

    def numbers(self, of: Numbers) -> dict[int, float]:
        """Return the number that the claim is about, by seed, for the seeds that have one."""
        found = dict(of.get(self.setting, {}).get(self.measure, {}))
        if not self.minus:
            return found
        other = of.get(self.minus, {}).get(self.measure, {})
        return {seed: found[seed] - other[seed] for seed in found if seed in other}


def number_label(name: str) -> str:
    """Return the name on screen of a measure or of a number over training."""
    return NUMBERS[name].label if name in NUMBERS else measure_label(name)


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

    def in_words(self) -> str:
        """Return the sentences on the numbers of the runs."""
        if not self.numbers:
            return "No run is finished."
        low, high = (100 * end for end in present(self.share).ends)
        published = self.check.published
        said = "" if published is None else f" Published: {published:g}."
        return (
            f"Mean {number_text(present(self.mean).mean)}.{said} {self.within} of "
            f"{len(self.numbers)} seeds are in the claimed range (95 % interval: "
            f"{show_range(low, high, places=0)} % of all seeds)."
        )


def number_text(number: float) -> str:
    """Return a number as text, with three places or, for counts such as steps, none."""
    return f"{number:,.{3 if abs(number) < 10 else 0}f}".replace("-", "−")


def verdict_on(check: Check, of: Numbers) -> Verdict:
    """Return the verdict on a claim: whether most runs lie in the claimed range.

    Let s be the share of all runs of the setting, over all seeds, in the range. The claim agrees
    if Wilson's 95 % interval of s is above 1/2, and disagrees if it is below 1/2. Otherwise it is
    undecided. The rule holds for numbers of any distribution, so a few stuck runs among many
    do not mislead it. With five seeds all must be inside to agree. The interval of the mean is cut
    at the bounds of the measure.

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
    mean = student_interval([*numbers.values()]).within(*check.bounds)
    return Verdict(check, numbers, mean, within, share, says)


def overall(verdicts: Iterable[Verdict]) -> str:
    """Return the verdict on a result: the worst of the verdicts on its claims.

    `disagrees` is worse than `undecided`, which is worse than `agrees`.
    """
    found = {verdict.says for verdict in verdicts}
    return next(says for says in (DISAGREES, OPEN, AGREES) if says in found)


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
        papers: The arXiv number, or "", of each publication by its authors and year.
        study: The settings with the seeds of the shipped runs, and what is measured.
        checks: The claims about their runs.
        published: The published number of the first claim's measure, by setting, where the claims
            have none.
        predicted: What theory says before any run, or "".
        differs: How the setting differs from the published one, or "".
        tuned_on: Seeds on which the settings were chosen.
        found: What the runs found, a format for `outcome`, or "".
    """

    name: str
    title: str
    claim: str
    source: str
    papers: Mapping[str, str]
    study: Study
    checks: tuple[Check, ...]
    published: Mapping[str, float] = dataclasses.field(default_factory=dict)
    predicted: str = ""
    differs: str = ""
    tuned_on: tuple[int, ...] = ()
    found: str = ""

    def with_seeds(self, seeds: int, first_seed: int | None = None) -> "KnownResult":
        """Return the result with other seeds."""
        first = self.study.first_seed if first_seed is None else first_seed
        study = dataclasses.replace(self.study, seeds=seeds, first_seed=first)
        return dataclasses.replace(self, study=study)

    @property
    def settings(self) -> dict[str, Experiment]:
        """The experiments by label."""
        return {setting.label: present(setting.experiment) for setting in self.study.settings}

    @property
    def seeds(self) -> range:
        """The seeds of the runs."""
        return range(self.study.first_seed, self.study.first_seed + self.study.seeds)

    def numbers_of(self, results: Iterable[RunSummary]) -> Numbers:
        """Return the numbers that the claims are about, from results of the runs.

        Runs that are not finished or have other seeds have no numbers.
        """
        measures = dict.fromkeys(check.measure for check in self.checks)
        found = {label: {measure: {} for measure in measures} for label in self.settings}
        for result in results:
            if result.state != "done" or not self.study.has(result.experiment):
                continue
            setting = present(self.study.setting_of(result.experiment))
            for measure, numbers in found[setting.label].items():
                if (number := _number(result, measure)) is not None:
                    numbers[result.experiment.seed] = number
        return found

    @property
    def shipped_numbers(self) -> Numbers:
        """The numbers of the runs that come with the program."""
        return self.numbers_of(shipped(self.name).results)

    def outcome(self, of: Numbers) -> str:
        """Return what the runs found: fields of `found` are means over seeds.

        A field is the number of a claim, from 0, or a setting, for the measure of the first claim.
        """
        claims = (fmean(check.numbers(of).values()) for check in self.checks)
        settings = {label: each[self.checks[0].measure].values() for label, each in of.items()}
        return self.found.format(*claims, **{each: fmean(settings[each]) for each in settings})

    def verdicts(self, of: Numbers) -> tuple[Verdict, ...]:
        """Return the verdict on every claim."""
        return tuple(verdict_on(check, of) for check in self.checks)


def _number(result: RunSummary, name: str) -> float | None:
    # Shipped runs have numbers over training too.
    if name in result.metrics:
        return result.metrics[name][-1][1]
    if name in NUMBERS:
        return NUMBERS[name].of(result)
    return getattr(result if name == "exact_match" else result.evaluation, name, None)
