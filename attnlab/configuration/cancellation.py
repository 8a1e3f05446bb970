"""Cancellation of long computations.

A long computation calls `check_in` at intervals, where a listener, if one is set, may raise
`Stopped`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LISTENER: ContextVar[Callable[[], None] | None] = ContextVar("listener", default=None)


class Stopped(Exception):
    """Raised to cancel a computation whose result is no longer needed."""


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
