"""When a run is tested, and when its model is kept."""

import bisect
from typing import NamedTuple

import numpy as np

_CHECKPOINTS = 64
_EVEN_TESTS = 64


class Schedule(NamedTuple):
    """Steps at which a run is looked at, in order; models are kept at some of the tests."""

    tests: tuple[int, ...]
    checkpoints: tuple[int, ...]

    def next_after(self, step: int) -> int:
        """The first step after `step` at which anything is due, or the last one of all."""
        return self.tests[min(bisect.bisect_right(self.tests, step), len(self.tests) - 1)]


# Of a run of which nothing but its steps is wanted.
NO_TESTS = Schedule((), ())


def schedule(steps: int) -> Schedule:
    """At most 64 checkpoints, log-spaced from step 0 to the last; tests there and between."""
    spaced = np.geomspace(1, steps, min(_CHECKPOINTS - 1, steps))
    checkpoints = {0, *np.round(spaced).astype(int).tolist()}
    even = np.round(np.linspace(0, steps, _EVEN_TESTS)).astype(int).tolist()
    return Schedule(
        tests=tuple(sorted(checkpoints.union(even))), checkpoints=tuple(sorted(checkpoints))
    )
