"""How a figure moves during training, over seeds."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from attnlab.comparisons.intervals import Interval, student_interval
from attnlab.runs.result import Result


class CurveOverSeeds(NamedTuple):
    """At each of the steps the mean of a test figure over seeds, with its interval."""

    steps: tuple[int, ...]
    intervals: tuple[Interval, ...]


def curve_over_seeds(results: Sequence[Result], figure: str = "nll") -> CurveOverSeeds:
    """At the steps at which all of the results were tested, so that every mean is of the same runs.

    `figure` is a field of `Evaluation`; a step at which one of them is not finite is left out.
    """
    tests = [
        {step: getattr(test, figure) for step, test in result.tests if math.isfinite(test.nll)}
        for result in results
    ]
    steps = sorted(set.intersection(*map(set, tests))) if tests else []
    intervals = [student_interval([test[step] for test in tests]) for step in steps]
    return CurveOverSeeds(tuple(steps), tuple(intervals))
