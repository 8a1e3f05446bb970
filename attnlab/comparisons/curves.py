"""How a figure changes during training, over seeds."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnlab.comparisons.intervals import Interval, student_interval
from attnlab.runs.result import Result

# With fewer seeds an interval would be many times as wide as the curves are apart.
FEWEST_FOR_BAND = 3


class CurveOverSeeds(NamedTuple):
    """The mean of a test figure over seeds at each of the steps, with its interval.

    `each` has the values of every seed at the same steps.
    """

    steps: tuple[int, ...]
    intervals: tuple[Interval, ...]
    each: dict[int, tuple[float, ...]]


def curve_over_seeds(results: Sequence[Result], figure: str = "nll") -> CurveOverSeeds:
    """Return the mean curve of runs, at the steps at which the most rarely tested one was tested.

    Runs of the same settings may have been tested at different steps. Within the steps that all of
    them span, each run is interpolated linearly between its own tests, so that every mean is of the
    same runs.

    Args:
        results: runs of one setting, each with another seed.
        figure: a field of `Evaluation` that has a standard error. Tests whose loss is not finite
            are left out.
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


def _tests(result: Result, figure: str) -> np.ndarray:
    """Return rows of steps, values and their standard errors."""
    tests = dict(result.tests)
    if result.evaluation is not None:
        tests[result.steps] = result.evaluation
    found = [
        (step, getattr(test, figure), getattr(test, f"{figure}_stderr"))
        for step, test in sorted(tests.items())
        if math.isfinite(test.nll)
    ]
    return np.array(found).reshape(-1, 3).T
