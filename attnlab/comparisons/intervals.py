"""Confidence intervals over seeds."""

import dataclasses
import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from attnlab.configuration.options import OptionError, present
from attnlab.runs.run_summary import RunSummary
from attnlab.training.evaluation import safe_variance

LEVEL = 0.95
# Reasons why a t interval may be unreliable.
DOUBTS = MappingProxyType(
    {
        "few": "a few seeds may miss some outcomes",
        "equal": "all seeds have the same value, so the spread between seeds is not known",
        "split": "the seeds fall into two groups",
        "bound": "shares this near 0 or 100 % are not normally distributed",
    }
)
# With fewer seeds than this, all may well succeed even if one in ten fails.
FEW = 10
# Values are split if the largest gap between neighbours exceeds this share of their range. By
# chance that happens for 4 normal values in 5 % of cases, for 5 in 1 %.
_GAP, _FEWEST_FOR_GAP = 0.85, 4
_NEAR = 0.05


@dataclasses.dataclass(frozen=True)
class Interval:
    """A mean over `n` runs and its confidence interval.

    `low` and `high` are None for a single run, whose distance from others is unknown. `n` is 0 for
    a number that does not come from runs, such as a floor; if it is `exact`, `low` and `high` equal
    it. `doubts` are keys of `DOUBTS`: reasons why the coverage may be below the level.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    doubts: tuple[str, ...] = dataclasses.field(default=(), compare=False)

    @property
    def exact(self) -> bool:
        """Whether the number is known rather than estimated."""
        return self.n == 0 and self.low == self.high

    @property
    def ends(self) -> tuple[float, float]:
        """`low` and `high` of an interval that has them."""
        return present(self.low), present(self.high)

    def plus(self, constant: float) -> "Interval":
        """Return the interval shifted by a constant that is known exactly."""
        if self.low is None:
            return dataclasses.replace(self, mean=self.mean + constant)
        low, high = (end + constant for end in self.ends)
        return dataclasses.replace(self, mean=self.mean + constant, low=low, high=high)

    def within(self, low: float, high: float) -> "Interval":
        """Clip the interval to two bounds that the true mean cannot exceed."""
        if self.low is None:
            return self
        return dataclasses.replace(self, low=max(self.low, low), high=min(self.ends[1], high))


def exactly(value: float) -> Interval:
    """Return the interval of a number that is known exactly."""
    return Interval(value, value, value, 0)


def student_interval(
    values: Sequence[float] | Float[np.ndarray, " n"],
    level: float = LEVEL,
    *,
    errors: Sequence[float] | Float[np.ndarray, " n"] = (),
    share: bool = False,
) -> Interval:
    """Return mean ± t s/√n, where s is the standard deviation with denominator n - 1.

    t is the quantile of (1 + level)/2 of Student's t with n - 1 degrees of freedom (Student 1908,
    "The probable error of a mean"). For normal values the interval contains the mean over all seeds
    in a share `level` of cases. If some seeds fail, it does so less often: if one in ten fails, in
    27 % of cases with three seeds, in 41 % with five. `doubts` of the result lists such reasons;
    the `wilson_interval` of the share of successful seeds is valid in any case.

    Args:
        values: One finite number for each seed.
        level: The probability, between 0 and 1.
        errors: Standard errors of the values on their test sets, if known. Seeds spread at least as
            much, so the half-width is at least z e/√n, where e is the root mean square of the
            errors and z the normal quantile. So no interval has a width of 0.
        share: Whether the values are shares, which are not normal near 0 and 1.

    Raises:
        ValueError: If there are no values, or some are not finite.
        OptionError: If `level` is not between 0 and 1.

    >>> round(student_interval([1.0, 2.0, 3.0], level=0.5).high, 6)
    2.471405
    """
    each = np.asarray(values, dtype=np.float64)
    if each.size == 0 or not np.isfinite(each).all():
        raise ValueError(f"`values` are {each.tolist()}. Give one finite number or more.")
    mean = float(each.mean())
    if each.size == 1:
        return Interval(mean, None, None, 1)
    error = root_mean_square(errors)
    half = float(half_widths(each, level, error))
    return Interval(mean, mean - half, mean + half, each.size, doubts_of(each, error, share=share))


def half_widths(
    values: Float[np.ndarray, "*sets n"],
    level: float = LEVEL,
    error: float | Float[np.ndarray, "*sets"] = 0.0,
) -> Float[np.ndarray, "*sets"]:
    """Return the half-width of `student_interval` for each set of two or more values.

    `error` is the standard error of a value on its test set.
    """
    n = values.shape[-1]
    spread = t_quantile(level, n - 1) * values.std(axis=-1, ddof=1)
    return np.asarray(np.maximum(spread, normal_quantile((1 + level) / 2) * error) / np.sqrt(n))


def root_mean_square(errors: Sequence[float] | Float[np.ndarray, " n"]) -> float:
    """Return the root of the mean square of errors, 0 if there are none."""
    each = np.asarray(errors, dtype=np.float64)
    return float(np.sqrt((each**2).mean())) if each.size else 0.0


def doubts_of(
    values: Float[np.ndarray, " n"], error: float = 0.0, *, share: bool = False
) -> tuple[str, ...]:
    """Return the keys of `DOUBTS` that apply to the values of two or more seeds."""
    found = {
        "few": values.size < FEW,
        "equal": np.ptp(values) == 0,
        "split": bool(are_split(values, error)),
        "bound": share and not _NEAR < values.mean() < 1 - _NEAR,
    }
    return tuple(name for name in DOUBTS if found[name])


def are_split(
    values: Float[np.ndarray, "*sets n"], error: float | Float[np.ndarray, "*sets"] = 0.0
) -> Bool[np.ndarray, "*sets"]:
    """Return whether values fall into two groups, such as seeds that fail and seeds that do not.

    They do if the largest gap between neighbours is most of their range, which is rare for normal
    values, and larger than four times `error`, the standard error on a test set. With fewer than 4
    values the result is False.
    """
    gaps = np.diff(np.sort(values, axis=-1), axis=-1)
    if values.shape[-1] < _FEWEST_FOR_GAP:
        return np.zeros(values.shape[:-1], dtype=bool)
    largest = gaps.max(axis=-1)
    return np.asarray((largest > _GAP * np.ptp(values, axis=-1)) & (largest > 4 * error))


def wilson_interval(count: int, n: int, level: float = LEVEL) -> Interval:
    """Return the Wilson interval of a probability, from `count` successes in `n` trials.

    It is all p with |count/n − p| ≤ z √(p (1 − p)/n) (Wilson 1927, "Probable inference, the law of
    succession, and statistical inference"). It only assumes independent trials. Its coverage is
    `level` on average over p; for few trials it is less at some p.

    >>> [round(end, 3) for end in (wilson_interval(3, 5).low, wilson_interval(3, 5).high)]
    [0.231, 0.882]
    """
    check_level(level)
    z = normal_quantile((1 + level) / 2)
    share, weight = count / n, z**2 / n
    middle = (share + weight / 2) / (1 + weight)
    half = z * math.sqrt(share * (1 - share) / n + weight / (4 * n)) / (1 + weight)
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    # Exactly 0 and 1, without rounding errors.
    return Interval(share, 0.0 if count == 0 else low, 1.0 if count == n else high, n)


def share_error(share: float, size: int) -> float:
    """Return √(p (1 − p)/n), with p moved half an event away from 0 and 1 so that it is above 0."""
    return math.sqrt(safe_variance(share, size) / size)


def widened(interval: Interval, stderr: float, level: float = LEVEL) -> Interval:
    """Add another independent error, normal with the standard error `stderr`.

    The half-width h becomes √(h² + (z stderr)²), where z is the normal quantile of (1 + level)/2.
    """
    if interval.low is None or stderr == 0:
        return interval
    half = math.hypot(interval.ends[1] - interval.mean, normal_quantile((1 + level) / 2) * stderr)
    return dataclasses.replace(interval, low=interval.mean - half, high=interval.mean + half)


def t_quantile(level: float, degrees: float) -> float:
    """Return the half-width, in standard errors, that contains a share `level` of Student's t."""
    check_level(level)
    # Imported here and below: it takes long, and only results over seeds need it.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + level) / 2))


def normal_quantile(probability: float) -> float:
    """Return the standard normal quantile of a probability."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def check_level(level: float) -> None:
    """Raise `OptionError` unless `level` is between 0 and 1."""
    if not 0 < level < 1:
        raise OptionError("level", level, "not between 0 and 1", "Choose one such as 0.95")


# With fewer seeds an interval would be many times as wide as the distance between curves.
FEWEST_FOR_BAND = 3


class CurveOverSeeds(NamedTuple):
    """A test result at each step: its mean over seeds, with an interval.

    `each` has the values of every seed at these steps.
    """

    steps: tuple[int, ...]
    intervals: tuple[Interval, ...]
    each: dict[int, tuple[float, ...]]


def curve_over_seeds(results: Sequence[RunSummary], figure: str = "nll") -> CurveOverSeeds:
    """Return the mean curve of runs, at the steps of the run with the fewest tests.

    Runs of the same settings may have been tested at different steps. Within the range of steps
    common to all, each run is interpolated linearly between its own tests, so every mean is over
    the same runs.

    Args:
        results: Runs of one setting, each with another seed.
        figure: A field of `Evaluation` that has a standard error, or a metric of the runs. Tests
            whose loss is not finite are left out.
    """
    runs = {result.experiment.seed: _tests(result, figure) for result in results}
    spans = [steps for steps, _, _ in runs.values()]
    if not spans or not all(map(len, spans)):
        return CurveOverSeeds((), (), {})
    first, last = max(steps[0] for steps in spans), min(steps[-1] for steps in spans)
    if first > last:
        return CurveOverSeeds((), (), {})
    rarest = min(spans, key=len)
    at = sorted({first, last, *rarest[(first <= rarest) & (rarest <= last)]})
    values = {seed: np.interp(at, steps, found) for seed, (steps, found, _) in runs.items()}
    errors = [np.interp(at, steps, found) for steps, _, found in runs.values()]
    intervals = tuple(
        student_interval(of_step, errors=of_tests, share=figure == "accuracy")
        for of_step, of_tests in zip(
            np.transpose(list(values.values())), np.transpose(errors), strict=True
        )
    )
    each = {seed: tuple(map(float, found)) for seed, found in values.items()}
    return CurveOverSeeds(tuple(map(int, at)), intervals, each)


def _tests(result: RunSummary, figure: str) -> np.ndarray:
    """Return rows of steps, values and their standard errors."""
    if figure in result.metrics:
        return np.array([(step, value, 0.0) for step, value in result.metrics[figure]]).T
    tests = dict(result.tests)
    if result.evaluation is not None:
        tests[result.steps] = result.evaluation
    found = [
        (step, getattr(test, figure), getattr(test, f"{figure}_stderr"))
        for step, test in sorted(tests.items())
        if math.isfinite(test.nll)
    ]
    return np.array(found).reshape(-1, 3).T
