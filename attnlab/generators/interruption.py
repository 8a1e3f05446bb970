"""Long computations that somebody may stop: they check in now and then.

A computation of many parts calls `check_in` between them. Where nobody listens that does nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LISTENER: ContextVar[Callable[[], None] | None] = ContextVar("listener", default=None)


class Stopped(Exception):
    """Nobody wants the answer any more."""


def check_in() -> None:
    """Raise `Stopped` if whoever asked for this computation wants no answer any more."""
    listener = _LISTENER.get()
    if listener is not None:
        listener()


@contextmanager
def listening(listener: Callable[[], None]) -> Iterator[None]:
    """`check_in` calls `listener` within it, in this thread; `listener` may raise `Stopped`."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
