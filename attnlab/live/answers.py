"""Questions answered in the background, so that whoever asks never waits."""

import collections
import dataclasses
import math
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from attnlab.generators.interruption import Stopped, listening


@dataclasses.dataclass
class _Asked:
    """The promise of an answer, when somebody last wanted it, and whether it was given up since."""

    future: Future
    seen: float
    withdrawn: bool = False


class Answers:
    """Answers to pure functions of hashable arguments, computed by `workers` threads in turn.

    The last `most` are remembered, and after as many new ones `renew` is called: it drops what
    computing them left behind. A question that nobody has asked again for `patience` seconds is
    given up, before its turn or where its function checks in (`attnlab.generators.interruption`).
    """

    def __init__(
        self,
        workers: int = 1,
        *,
        patience: float = math.inf,
        most: int = 128,
        renew: Callable[[], None] | None = None,
    ):
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(workers, thread_name_prefix="attnlab-answers")
        self._patience, self._most, self._renew = patience, most, renew
        self._new = 0
        self._asked: collections.OrderedDict[Hashable, _Asked] = collections.OrderedDict()

    def ask(self, function: Callable[..., Any], *arguments: Hashable) -> Future:
        """The answer, or the promise of it: `done()` tells, `result()` gives or raises it.

        The promise of a question that was given up is cancelled.
        """
        key = (function, arguments)
        with self._lock:
            if key not in self._asked or self._asked[key].future.cancelled():
                future = Future()
                self._asked[key] = _Asked(future, time.monotonic())
                self._worker.submit(self._answer, self._asked[key], function, arguments)
            self._asked[key].seen, self._asked[key].withdrawn = time.monotonic(), False
            self._asked.move_to_end(key)
            while len(self._asked) > self._most:
                self._asked.popitem(last=False)
            return self._asked[key].future

    def keep(self, answer: Any, function: Callable[..., Any], *arguments: Hashable) -> None:
        """Remember an answer that was found elsewhere."""
        future = Future()
        future.set_result(answer)
        with self._lock:
            self._asked[function, arguments] = _Asked(future, time.monotonic())

    def known(self, function: Callable[..., Any], *arguments: Hashable) -> Any:
        """The answer if it is remembered, else None; nothing is asked. Raises what it raised."""
        with self._lock:
            asked = self._asked.get((function, arguments))
        if asked is None or not asked.future.done() or asked.future.cancelled():
            return None
        return asked.future.result()

    def withdraw(self, function: Callable[..., Any], *arguments: Hashable) -> None:
        """Give a question up, unless somebody else asks it again."""
        with self._lock:
            asked = self._asked.get((function, arguments))
            if asked is not None:
                asked.withdrawn = True

    def _count(self) -> None:
        with self._lock:
            self._new += 1
            is_time = self._renew is not None and self._new > self._most
            if is_time:
                self._new = 1
        if is_time:
            self._renew()

    def _answer(
        self, asked: _Asked, function: Callable[..., Any], arguments: tuple[Hashable, ...]
    ) -> None:
        def check() -> None:
            if asked.seen < time.monotonic() - self._patience or asked.withdrawn:
                raise Stopped

        try:
            with listening(check):
                check()
                self._count()
                answer = function(*arguments)
        except Stopped:
            asked.future.cancel()
            asked.future.set_running_or_notify_cancel()
        # Whoever asked is told, in their own thread.
        except BaseException as error:
            asked.future.set_exception(error)
        else:
            asked.future.set_result(answer)
