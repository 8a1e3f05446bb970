"""Questions answered in the background, so that whoever asks never waits."""

import collections
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

# A page asks a few questions for each process somebody tries.
_MOST = 128


class Answers:
    """Answers to pure functions of hashable arguments, computed by `workers` threads in turn.

    The last 128 are remembered.
    """

    def __init__(self, workers: int = 1):
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(workers, thread_name_prefix="attnlab-answers")
        self._futures: collections.OrderedDict[Hashable, Future] = collections.OrderedDict()

    def ask(self, function: Callable[..., Any], *arguments: Hashable) -> Future:
        """The answer, or the promise of it: `done()` tells, `result()` gives or raises it."""
        key = (function, arguments)
        with self._lock:
            if key not in self._futures:
                self._futures[key] = self._worker.submit(function, *arguments)
            self._futures.move_to_end(key)
            while len(self._futures) > _MOST:
                self._futures.popitem(last=False)
            return self._futures[key]

    def withdraw(self, function: Callable[..., Any], *arguments: Hashable) -> None:
        """Drop a question that nobody has begun to answer; whoever else wants it asks anew."""
        with self._lock:
            future = self._futures.get((function, arguments))
            if future is not None and future.cancel():
                del self._futures[function, arguments]
