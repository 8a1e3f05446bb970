"""The place where a run is kept while it trains."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from attnlab.runs.result import Result

_LOG = logging.getLogger(__name__)
# As much of a run is lost at most when its process is killed.
_SECONDS = 10.0

# Is given a result, and what it gave for the same run the time before, None at first.
Keep = Callable[[Result, Any], Any]


class Keeping:
    """Hands a run to `keep` now and then and whenever it rests, unless it is as it was before.

    `kept` is what `keep` gave the last time. Where `keep` is None nothing is kept; what it raises
    is logged, and the run goes on. `clock` counts seconds and never goes back.
    """

    def __init__(
        self,
        keep: Keep | None = None,
        *,
        kept: Any = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._lock = threading.Lock()
        self._keep, self._clock = keep, clock
        self._before = 0, 0, ""
        self._due = clock() + _SECONDS
        self.kept = kept

    def is_due(self) -> bool:
        """Whether the last time is long ago."""
        return self._keep is not None and self._clock() >= self._due

    def leave_out(self, steps: int, changes: int) -> None:
        """A run that has come as far as that is kept when it has gone on."""
        self._before = steps, changes, ""

    def take(self, result: Callable[[], Result | None]) -> None:
        """Keep what `result` gives, if it gives anything new. In turn, where several call."""
        if self._keep is None:
            return
        with self._lock:
            try:
                self._take(result())
            # Whatever it is, the run is worth more.
            except Exception:
                _LOG.exception("A run was not kept.")
            self._due = self._clock() + _SECONDS

    def _take(self, result: Result | None) -> None:
        if result is None:
            return
        mark = result.steps, len(result.run.history.changes), result.reason
        if mark != self._before:
            self.kept = self._keep(result, self.kept)
            self._before = mark
