"""An iterator at work in a background thread, so that whoever watches never waits."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from attnlab.generators.interruption import Stopped, listening
from attnlab.live.queueing import Place, WorkQueue

_LOG = logging.getLogger(__name__)


class BackgroundState(NamedTuple):
    """What there is to see now.

    `latest` is the newest item, None before the first. `running` says whether more comes by
    itself; `done` that there is no more. Work that is neither was paused, and can be gone on with.
    `message` is its place in the queue or why it was paused; `error` what it ended by, or empty.
    `seconds` is how long it has worked, waiting left out.
    """

    latest: Any
    running: bool
    done: bool
    message: str
    error: str
    seconds: float


class Background:
    """Works an iterator off in a daemon thread, when its turn in `queue` has come.

    `make` is called once, in the thread. `rest` is how many seconds to wait after an item, for
    work too quick to watch; or a function that says so, asked after each. A pause comes after the
    first item at which it `may_pause` or, within one, where the work checks in
    (`generators.interruption`), which ends it. `at_rest` is called in the thread with the error, or
    nothing, before it ends. Methods may be called from any thread.
    """

    def __init__(
        self,
        make: Callable[[], Iterator[Any]],
        *,
        queue: WorkQueue | None = None,
        rest: float | Callable[[], float] = 0.0,
        name: str = "attnlab-background",
        may_pause: Callable[[], bool] = lambda: True,
        at_rest: Callable[[str], None] = lambda error: None,
    ):
        self._make, self._rest, self._name, self._may_pause = make, rest, name, may_pause
        self._at_rest = at_rest
        self._queue = queue or WorkQueue()
        self._lock = threading.Lock()
        self._pausing = threading.Event()
        self._items: Iterator[Any] | None = None
        self._thread: threading.Thread | None = None
        # In the queue, as long as there is a thread.
        self.place: Place | None = None
        self._latest: Any = None
        self._done, self._message, self._error = False, "", ""
        self._seconds = 0.0

    def start(self) -> None:
        """Begin, or go on after a pause; nothing happens to work that goes on or is done."""
        with self._lock:
            self._pausing.clear()
            if self._thread is None and not self._done:
                self._begin()

    def pause(self) -> None:
        """Make a pause soon, and keep what there is. May be called at any time, and again."""
        with self._lock:
            self._pausing.set()
            # One that still waits has nothing to finish.
            if self.place is not None and self.place.number:
                self.place.leave()

    def state(self) -> BackgroundState:
        """What there is to see now. Work that nobody looks at may have to make way."""
        with self._lock:
            place = self.place
            if place is not None:
                place.watch()
            return BackgroundState(
                self._latest,
                running=self._thread is not None,
                done=self._done,
                message=self._message or (self._waits_for(place) if place else ""),
                error=self._error,
                seconds=self._seconds,
            )

    def wait(self, timeout: float) -> bool:
        """Wait until no thread is at work; False if that takes longer than `timeout` seconds."""
        until = time.monotonic() + timeout
        # One that ends may have begun another, see `_work`.
        while (thread := self._thread) is not None:
            thread.join(max(0.0, until - time.monotonic()))
            if thread.is_alive():
                return False
        return True

    def is_stopping(self) -> bool:
        """Whether the work is to pause as soon as it may."""
        place = self.place
        return self._pausing.is_set() or (place is not None and place.reason_to_end() != "")

    def _waits_for(self, place: Place) -> str:
        return "stopping" if self._pausing.is_set() else place.message()

    def _begin(self) -> None:
        self._message = ""
        self.place = self._queue.join()
        # A daemon, so that a page left open never keeps the server from ending.
        self._thread = threading.Thread(
            target=self._work, args=(self.place,), name=self._name, daemon=True
        )
        self._thread.start()

    def _work(self, place: Place) -> None:
        message, error, done = "", "", False
        try:
            if place.wait() and not (message := place.reason_to_end()):
                with listening(lambda: self._check_in(place)):
                    done, message = self._work_off(place)
        except Stopped as stop:
            # Cut off within an item, it begins anew when it is gone on with.
            message, self._items = str(stop), None
        # Any error belongs on the page that watches, an exit too: the thread ends here.
        except BaseException as problem:
            _LOG.exception("Work in the background ended by an error.")
            error, done = f"{type(problem).__name__}: {problem}".removesuffix(": "), True
        try:
            self._at_rest(error)
        finally:
            with self._lock:
                place.leave()
                self.place = self._thread = None
                self._message, self._error, self._done = message, error, done
                if not done and not message and not self._pausing.is_set():
                    # Paused and started again before this thread could hear of it.
                    self._begin()

    def _work_off(self, place: Place) -> tuple[bool, str]:
        """Take items until a pause; whether there are no more, and why the queue wanted a pause."""
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
            if reason := place.reason_to_end():
                return False, reason
        return True, ""

    def _check_in(self, place: Place) -> None:
        if self._pausing.is_set():
            raise Stopped
        if reason := place.reason_to_end():
            raise Stopped(reason)
