"""Signals that end a command: Ctrl-C, those of schedulers, and that of a closed terminal."""

import math
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Windows has no SIGHUP.
_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


def raise_on_signals() -> None:
    """Let these signals raise `KeyboardInterrupt` with the number of the signal."""
    last = -math.inf

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        # A closing terminal sends several at once, and the second one must not end saving.
        if last - before > 1:
            raise KeyboardInterrupt(number)

    for number in _SIGNALS:
        # `nohup` ignores some of them, and so do shells for a process in the background.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handle)


@contextmanager
def signals_ignored() -> Iterator[None]:
    """Ignore these signals inside the block."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
