"""Long computations that go on at the same time: how many, who is next, and for how long."""

import collections
import math
import threading
import time
from collections.abc import Callable

Clock = Callable[[], float]


class WorkQueue:
    """At most `places` computations go on at once; the others wait, and who came first is next.

    A computation is a run that trains, or any other work that takes long. `seconds` is how long
    one may hold a place, and `patience` how many seconds it keeps it without a viewer. While
    `is_full` is true, all of them pause. `clock` counts seconds and never goes back, as
    `time.monotonic`.
    """

    def __init__(
        self,
        places: float = math.inf,
        *,
        seconds: float = math.inf,
        patience: float = math.inf,
        is_full: Callable[[], bool] = lambda: False,
        clock: Clock = time.monotonic,
    ):
        if places < 1:
            raise ValueError(f"`places` is {places!r}: nobody could compute. Choose 1 or more.")
        self.places, self.seconds, self.patience, self.clock = places, seconds, patience, clock
        self.is_full = is_full
        self.changed = threading.Condition()
        # In the order of their coming: those at work, and behind them those who wait.
        self.line: collections.deque[Place] = collections.deque()

    def join(self) -> "Place":
        """Get in line, at the end."""
        return Place(self)


class Place:
    """A computation's place in the queue, from the moment it is wanted until it is given back.

    Every method may be called from any thread; none but `wait` waits.
    """

    def __init__(self, queue: WorkQueue):
        self._queue = queue
        self._seen = queue.clock()
        self._began: float | None = None
        with queue.changed:
            queue.line.append(self)

    @property
    def number(self) -> int:
        """Of those who wait, the place of this one, from 1; 0 for one that may work or left."""
        with self._queue.changed:
            return self._number()

    def wait(self) -> bool:
        """Wait for this computation's turn; False if the place was given back before it came."""
        queue = self._queue
        with queue.changed:
            queue.changed.wait_for(lambda: self._number() == 0)
            self._began = queue.clock()
            return self in queue.line

    def leave(self) -> None:
        """Give the place back; whoever is next may begin. Again and again changes nothing."""
        with self._queue.changed:
            if self in self._queue.line:
                self._queue.line.remove(self)
                self._queue.changed.notify_all()

    def watch(self) -> None:
        """Somebody looks at the computation now."""
        self._seen = self._queue.clock()

    def message(self) -> str:
        """What somebody who waits should know, or nothing."""
        number, places = self.number, self._queue.places
        if number == 0:
            return ""
        many = "1 computation" if places == 1 else f"{places} computations"
        return f"waiting: place {number:,} in the queue, {many} at a time"

    def reason_to_end(self) -> str:
        """Why the computation must make way now, or nothing."""
        now, queue = self._queue.clock(), self._queue
        if queue.is_full():
            return "the server's memory is full"
        if now - self._seen > queue.patience:
            return f"nobody watched for {queue.patience:.0f} s"
        if self._began is not None and now - self._began > queue.seconds:
            return f"its turn of {queue.seconds:.0f} s is over"
        return ""

    def _number(self) -> int:
        if self not in self._queue.line:
            return 0
        return max(0, self._queue.line.index(self) + 1 - self._queue.places)
