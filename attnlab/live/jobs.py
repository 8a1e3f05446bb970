"""Jobs in background threads, and the queue in which they wait for their turn."""

import collections
import logging
import math
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

from attnlab.configuration.cancellation import Stopped, listening

_LOG = logging.getLogger(__name__)

Clock = Callable[[], float]


class WorkQueue:
    """A queue that lets at most `places` jobs run at once, first come, first served.

    Args:
        places: How many jobs run at once.
        seconds: Seconds after which a running job must pause.
        patience: Seconds after which a job without a viewer must pause.
        is_full: While it returns true, all jobs pause.
        clock: Counts seconds and never goes back, like `time.monotonic`.
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
            raise ValueError(f"`places` is {places!r}: no job could run. Choose 1 or more.")
        self.places, self.seconds, self.patience, self.clock = places, seconds, patience, clock
        self.is_full = is_full
        self.changed = threading.Condition()
        # Jobs in order of arrival.
        self.line: collections.deque[Ticket] = collections.deque()

    def join(
        self, same: Hashable = None, *, is_known: Callable[[Hashable], bool] = lambda same: False
    ) -> "Ticket":
        """Return a ticket at the end of the queue.

        Args:
            same: Jobs with equal values compute the same: only the first of them runs, while the
                others wait for its result. None equals no other job.
            is_known: Returns whether the result is known. Such a job need not wait.
        """
        return Ticket(self, same, is_known)

    def admit(self) -> None:
        """Let the jobs run whose turn has come. Call it with `changed` held."""
        running = sum(ticket.is_admitted for ticket in self.line)
        for ticket in self.line:
            if not ticket.is_admitted and (
                ticket.is_known() or (running < self.places and not ticket.has_twin())
            ):
                ticket.is_admitted = True
                running += 1
        self.changed.notify_all()


class Ticket:
    """The ticket of a job in the queue. All methods are thread-safe; only `wait` blocks."""

    def __init__(self, queue: WorkQueue, same: Hashable, is_known: Callable[[Hashable], bool]):
        self._queue, self._same, self._is_known = queue, same, is_known
        self._seen = queue.clock()
        self._began: float | None = None
        self.is_admitted = False
        with queue.changed:
            queue.line.append(self)
            queue.admit()

    @property
    def number(self) -> int:
        """Position among the waiting jobs, from 1; 0 once the job may run, or has left.

        Jobs that wait for the result of another one do not count.
        """
        with self._queue.changed:
            if self.is_admitted or self not in self._queue.line:
                return 0
            line = list(self._queue.line)
            waiting = (ticket for ticket in line[: line.index(self)] if not ticket.is_admitted)
            return 1 + sum(not ticket.has_twin() for ticket in waiting)

    def wait(self) -> bool:
        """Wait for this job's turn; False if it left the queue before."""
        queue = self._queue
        with queue.changed:
            queue.changed.wait_for(lambda: self.number == 0)
            self._began = queue.clock()
            return self in queue.line

    def leave(self) -> None:
        """Leave the queue and wake the next job. Idempotent."""
        with self._queue.changed:
            if self in self._queue.line:
                self._queue.line.remove(self)
                self._queue.admit()

    def is_known(self) -> bool:
        """Return whether the result of this job is known."""
        return self._same is not None and self._is_known(self._same)

    def has_twin(self) -> bool:
        """Return whether an earlier job in the queue computes the same."""
        with self._queue.changed:
            same = (ticket for ticket in self._queue.line if ticket._same == self._same)
            return self._same is not None and next(same, self) is not self

    def stop_sharing(self) -> None:
        """Let the job run alone: it waits for no equal job, and no equal job waits for it."""
        with self._queue.changed:
            self._same = None
            self._queue.admit()

    def watch(self) -> None:
        """Record that the job has a viewer now."""
        self._seen = self._queue.clock()

    def message(self) -> str:
        """Return a waiting job's position in the queue as text, or "" if the job may run."""
        number, places = self.number, self._queue.places
        if number == 0:
            return ""
        if self.has_twin():
            return "another visitor is training the same run"
        many = "1 computation" if places == 1 else f"{places} computations"
        return f"waiting: place {number:,} in the queue, {many} at a time"

    def reason_to_end(self) -> str:
        """Return why the job must pause now, or ""."""
        now, queue = self._queue.clock(), self._queue
        if queue.is_full():
            return "the server's memory is full"
        if now - self._seen > queue.patience:
            return f"its page was not open for {queue.patience:.0f} s"
        if self._began is not None and now - self._began > queue.seconds:
            return f"its turn of {queue.seconds:.0f} s is over"
        return ""


class JobState(NamedTuple):
    """A job at one moment.

    Attributes:
        latest: The newest item, or None before the first.
        running: Whether the job will produce more items without another call.
        done: Whether there are no more items. A job neither running nor done can be resumed.
        message: Its place in the queue, or why it was paused.
        error: The error that ended it, or "".
        seconds: Running time, without waiting.
    """

    latest: Any
    running: bool
    done: bool
    message: str
    error: str
    seconds: float


class Job:
    """Runs an iterator in a daemon thread once its turn in `queue` has come.

    A pause takes effect after the next item at which `may_pause` returns True. Within an item, it
    takes effect where the work calls `check_in` (`configuration.cancellation`); this ends the
    iterator, so that a resumed job starts it again. All methods are thread-safe.

    Args:
        make: Makes the iterator; called in the thread.
        of: A value by which the caller recognises what the job computes.
        queue: The queue in which it waits.
        rest: Seconds to wait after each item, or a function that returns them.
        name: The name of the thread.
        join: Returns the job's ticket in the queue.
        may_pause: Returns whether a pause is possible after the latest item.
        at_rest: Called before the thread ends, with the error or, if there was none, "".
    """

    def __init__(
        self,
        make: Callable[[], Iterator[Any]],
        *,
        of: Any = None,
        queue: WorkQueue | None = None,
        rest: float | Callable[[], float] = 0.0,
        name: str = "attnlab-background",
        join: Callable[[WorkQueue], Ticket] = WorkQueue.join,
        may_pause: Callable[[], bool] = lambda: True,
        at_rest: Callable[[str], None] = lambda error: None,
    ):
        self.of = of
        self._make, self._rest, self._name, self._may_pause = make, rest, name, may_pause
        self._at_rest = at_rest
        self._queue, self._join = queue or WorkQueue(), join
        self._lock = threading.Lock()
        self._pausing = threading.Event()
        self._items: Iterator[Any] | None = None
        self._thread: threading.Thread | None = None
        # None, unless there is a thread.
        self.ticket: Ticket | None = None
        self._latest: Any = None
        self._done, self._message, self._error = False, "", ""
        self._seconds = 0.0

    def start(self) -> None:
        """Start or resume. Does nothing if the job runs or is done."""
        with self._lock:
            self._pausing.clear()
            if self._thread is None and not self._done:
                self._begin()

    def pause(self) -> None:
        """Request a pause, which keeps what was computed. Idempotent."""
        with self._lock:
            self._pausing.set()
            # A job that still waits has nothing to finish.
            if self.ticket is not None and self.ticket.number:
                self.ticket.leave()

    def state(self) -> JobState:
        """Return the current state, and count as a viewer."""
        with self._lock:
            ticket, message = self.ticket, self._message
            if ticket is not None:
                ticket.watch()
                message = message or ("stopping" if self._pausing.is_set() else ticket.message())
            return JobState(
                self._latest,
                running=self._thread is not None,
                done=self._done,
                message=message,
                error=self._error,
                seconds=self._seconds,
            )

    def wait(self, timeout: float) -> bool:
        """Wait until no thread runs; False if that takes longer than `timeout` seconds."""
        until = time.monotonic() + timeout
        # A thread that ends may have started another, see `_work`.
        while (thread := self._thread) is not None:
            thread.join(max(0.0, until - time.monotonic()))
            if thread.is_alive():
                return False
        return True

    def is_stopping(self) -> bool:
        """Return whether the job should pause as soon as it may."""
        ticket = self.ticket
        return self._pausing.is_set() or (ticket is not None and ticket.reason_to_end() != "")

    def _begin(self) -> None:
        self._message = ""
        self.ticket = self._join(self._queue)
        # A daemon, so that an open page never keeps the server from exiting.
        self._thread = threading.Thread(
            target=self._work, args=(self.ticket,), name=self._name, daemon=True
        )
        self._thread.start()

    def _work(self, ticket: Ticket) -> None:
        message, error, done = "", "", False
        try:
            if ticket.wait() and not (message := ticket.reason_to_end()):
                with listening(lambda: self._check_in(ticket)):
                    done, message = self._exhaust(ticket)
        except Stopped as stop:
            # Stopped within an item: the iterator starts again when the job is resumed.
            message, self._items = str(stop), None
        # The page shows any error, an exit too: the thread ends here.
        except BaseException as problem:
            _LOG.exception("Work in the background ended with an error.")
            error, done = f"{type(problem).__name__}: {problem}".removesuffix(": "), True
        try:
            self._at_rest(error)
        finally:
            with self._lock:
                ticket.leave()
                self.ticket = self._thread = None
                self._message, self._error, self._done = message, error, done
                if not done and not message and not self._pausing.is_set():
                    # Paused and started again before this thread noticed.
                    self._begin()

    def _exhaust(self, ticket: Ticket) -> tuple[bool, str]:
        """Take items until a pause; return whether none are left, and the queue's reason."""
        self._items = self._items or self._make()
        before = time.monotonic()
        for item in self._items:
            now = time.monotonic()
            self._latest, self._seconds = item, self._seconds + now - before
            before = now
            rest = self._rest() if callable(self._rest) else self._rest
            is_pausing = self._pausing.wait(rest)
            if not self._may_pause():
                continue
            if is_pausing:
                return False, ""
            if reason := ticket.reason_to_end():
                return False, reason
        return True, ""

    def _check_in(self, ticket: Ticket) -> None:
        if self._pausing.is_set():
            raise Stopped
        if reason := ticket.reason_to_end():
            raise Stopped(reason)
