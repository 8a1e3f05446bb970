"""An iterator at work in a background thread, so that whoever watches never waits."""

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_LOG = logging.getLogger(__name__)


class BackgroundState(NamedTuple):
    """What there is to see now: the newest item, whether more is to come, and what went wrong.

    `latest` is None before the first item; `error` is empty unless the iterator raised.
    """

    latest: Any
    running: bool
    error: str


class Background:
    """Runs an iterator in a daemon thread that ends with the iterator, or soon after `stop`.

    `make` is called in the thread. `rest` is the least number of seconds between two items, for
    work too quick to watch; a stop does not wait for it.
    """

    def __init__(self, make: Callable[[], Iterator[Any]], *, rest: float = 0.0):
        self._stopped = threading.Event()
        # One assignment replaces the whole state, so that no reader ever sees half of it.
        self._state: BackgroundState = BackgroundState(None, True, "")
        # A daemon, so that a page left open never keeps the server from ending.
        self._thread = threading.Thread(
            target=self._work, args=(make, rest), name="attnlab-background", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End after the item at hand, which is kept. May be called at any time, and again."""
        self._stopped.set()

    def state(self) -> BackgroundState:
        """What there is to see now."""
        return self._state

    def wait(self, timeout: float) -> bool:
        """Wait until the thread has ended; False if that takes longer than `timeout` seconds."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _work(self, make: Callable[[], Iterator[Any]], rest: float) -> None:
        error = ""
        try:
            for item in make():
                self._state = BackgroundState(item, True, "")
                if self._stopped.wait(rest):
                    break
        # Whatever goes wrong belongs on the page that watches, not in a dead thread.
        except Exception as problem:
            _LOG.exception("Work in the background ended by an error.")
            error = f"{type(problem).__name__}: {problem}"
        self._state = BackgroundState(self._state.latest, False, error)
