"""Means over seeds with their confidence intervals."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from attnlab.configuration.options import OptionError

LEVEL = 0.95


@dataclasses.dataclass(frozen=True)
class Interval:
    """A mean over `n` runs and what it is known to lie between.

    `low` and `high` are None for a single run: how much others differ from it is not known. `n` is
    0 of what rests on no run; where that is `exact` it is its own `low` and `high`.
    """

    mean: float
    low: float | None
    high: float | None
    n: int

    @property
    def exact(self) -> bool:
        """Whether it is known rather than estimated."""
        return self.n == 0 and self.low == self.high

    def plus(self, constant: float) -> "Interval":
        """Moved by what is known exactly."""
        if self.low is None:
            return dataclasses.replace(self, mean=self.mean + constant)
        return Interval(self.mean + constant, self.low + constant, self.high + constant, self.n)

    def within(self, low: float, high: float) -> "Interval":
        """Its part between two bounds that the true mean cannot be outside of."""
        if self.low is None:
            return self
        return dataclasses.replace(self, low=max(self.low, low), high=min(self.high, high))


def exactly(value: float) -> Interval:
    """A figure without an error."""
    return Interval(value, value, value, 0)


def student_interval(
    values: Sequence[float] | Float[np.ndarray, " n"], level: float = LEVEL
) -> Interval:
    """mean ± t s/√n, where s is the standard deviation over n - 1 and t the quantile of Student.

    t is that of (1 + level)/2 with n - 1 degrees of freedom (Student 1908, "The probable error of
    a mean"). Values of different seeds are independent; the interval holds the mean over all
    seeds in a share `level` of cases where they are normal, and nearly so elsewhere. Refused: no
    values, values that are not finite, a level that is not between 0 and 1.

    >>> round(student_interval([1.0, 2.0, 3.0], level=0.5).high, 6)
    2.471405
    """
    each = np.asarray(values, dtype=np.float64)
    if each.size == 0 or not np.isfinite(each).all():
        raise ValueError(f"`values` are {each.tolist()}. Give one finite number or more.")
    mean = float(each.mean())
    if each.size == 1:
        return Interval(mean, None, None, 1)
    half = float(half_widths(each, level))
    return Interval(mean, mean - half, mean + half, each.size)


def half_widths(
    values: Float[np.ndarray, "*sets n"], level: float = LEVEL
) -> Float[np.ndarray, "*sets"]:
    """t s/√n of `student_interval`, for each set of two or more values."""
    n = values.shape[-1]
    return np.asarray(t_quantile(level, n - 1) * values.std(axis=-1, ddof=1) / np.sqrt(n))


def widened(interval: Interval, stderr: float, level: float = LEVEL) -> Interval:
    """With a further independent error, normal with the standard error `stderr`.

    Its half-width h becomes √(h² + (z stderr)²), z being the normal quantile of (1 + level)/2.
    """
    if interval.low is None or stderr == 0:
        return interval
    half = math.hypot(interval.high - interval.mean, normal_quantile((1 + level) / 2) * stderr)
    return Interval(interval.mean, interval.mean - half, interval.mean + half, interval.n)


def t_quantile(level: float, degrees: float) -> float:
    """How many standard errors a `level` of Student's t lies within, on both sides of 0."""
    check_level(level)
    # Here and below: importing it takes long, and only figures over seeds need it.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + level) / 2))


def normal_quantile(probability: float) -> float:
    """What a standard normal value is below with that probability."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def check_level(level: float) -> None:
    """Raise `OptionError` unless it is a probability between 0 and 1."""
    if not 0 < level < 1:
        raise OptionError("level", level, "not between 0 and 1", "Choose one such as 0.95")
