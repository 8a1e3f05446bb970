"""Long computations that may be cancelled: they check in at intervals.

A computation of many parts calls `check_in` between them. Without a listener that does nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LISTENER: ContextVar[Callable[[], None] | None] = ContextVar("listener", default=None)


class Stopped(Exception):
    """The result is no longer needed."""


def check_in() -> None:
    """Raise `Stopped` if the result of this computation is no longer needed."""
    listener = _LISTENER.get()
    if listener is not None:
        listener()


@contextmanager
def listening(listener: Callable[[], None]) -> Iterator[None]:
    """Make `check_in` call `listener` in this thread; `listener` may raise `Stopped`."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
