"""The clock of a training thread: how long chunks are, when to look, how fast it goes."""

import collections
import time
from collections.abc import Callable

from attnlab.training.steps import CHUNK_CAPACITY

# A chunk this long keeps Pause prompt and costs little in calls.
_CHUNK_SECONDS = 0.075
# Between looks that the schedule does not ask for; and the share of time they may take.
_LOOK_SECONDS = 0.25
_LOOK_SHARE = 0.25
_SPEED_SECONDS = 1.0
# Between two pictures of a run that is slowed down.
_SLOW_SECONDS = 0.1
# No chunk is faster; a coarse clock may stand still meanwhile.
_LEAST_SECONDS = 1e-6


class Pace:
    """Times of one stretch of training, which began at `step`, `spent` seconds into the run.

    `clock` counts seconds and does not follow the time of day, which can jump.
    """

    def __init__(
        self, step: int, clock: Callable[[], float] = time.perf_counter, *, spent: float = 0.0
    ):
        self.chunk = 1
        # Steps a second at most, or None without a limit. May be set at any time.
        self.limit: float | None = None
        self._clock = clock
        self._began = clock()
        self._start = self._began - spent
        self._last_look = self._began
        self._look_every = _LOOK_SECONDS
        self._turn, self._stepped = self._began, 0
        self._marks = collections.deque([(self._began, step)])

    def seconds(self) -> float:
        """Those of this stretch, and those spent before."""
        return self._clock() - self._start

    def begin(self) -> None:
        """A chunk of steps begins."""
        self._began = self._clock()
        self._turn = self._began

    def stepped(self, steps: int) -> None:
        """The chunk is done; the next one has the length that takes the right time."""
        if steps:
            each = max(_LEAST_SECONDS, self._clock() - self._began) / steps
            self.chunk = max(1, min(CHUNK_CAPACITY, int(_CHUNK_SECONDS / each)))
            if self.limit is not None:
                self.chunk = max(1, min(self.chunk, int(_SLOW_SECONDS * self.limit)))
        self._stepped = steps
        self._began = self._clock()

    def rest(self) -> float:
        """Seconds to wait until the next chunk, so that the limit holds. A look comes first."""
        if self.limit is None or self.look_is_due():
            return 0.0
        whole = self._stepped / self.limit
        return min(max(0.0, self._turn + whole - self._clock()), whole)

    def look_is_due(self) -> bool:
        """Whether the last look is long ago, measured by what a look costs."""
        return self._began - self._last_look >= self._look_every

    def looked(self) -> None:
        """A look that began after the chunk is done."""
        self._last_look = self._clock()
        cost = self._last_look - self._began
        self._look_every = max(_LOOK_SECONDS, cost / _LOOK_SHARE)

    def steps_per_second(self, step: int) -> float:
        """Over the last second or, in a slow run, the last chunk."""
        now = self._clock()
        self._marks.append((now, step))
        while len(self._marks) > 2 and now - self._marks[1][0] >= _SPEED_SECONDS:
            self._marks.popleft()
        then, earlier = self._marks[0]
        return (step - earlier) / max(_LEAST_SECONDS, now - then)
