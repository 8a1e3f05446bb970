"""The exit status of a command that ends early: by Ctrl-C, a closed pipe or a failed write.

Output is UTF-8 in every environment.

Ctrl-C: one line that says how far the command came, and status 130 = 128 + SIGINT. Python hears it
between two calls of compiled code, so it waits for a compilation or a chunk of steps to end.
A closed pipe, such as that to `head -1`: silence, and status 141 = 128 + SIGPIPE, as shells report
for any program. A failed write, such as to a full disk: one line with the reason, and status 1.
Both hold for standard error too.
"""

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress

_INTERRUPTED, _PIPE_CLOSED, _WRITE_FAILED = 130, 141, 1


class Doing:
    """What a command is doing, in words that continue "interrupted"."""

    def __init__(self, words: str = "while starting"):
        self.words = words


def is_installed_command() -> bool:
    """Return whether this process is the command that `pip install` makes."""
    name, _ = os.path.splitext(os.path.basename("".join(sys.argv[:1])))
    return name == "attnlab"


def status_of(command: Callable[[Doing], int]) -> int:
    """Run a command and return its exit status, also where it ends early."""
    if sys.stderr is None:
        # Closed by the user; `print` would take None for standard output.
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in filter(None, (sys.stdout, sys.stderr)):
        # Whatever the environment says: many encodings lack the symbols of processes.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    doing = Doing()
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "standard output is closed")
        try:
            status = command(doing)
        except SystemExit as end:
            status = end.code
        sys.stdout.flush()
        sys.stderr.flush()
        return status
    except KeyboardInterrupt:
        _report(f"interrupted {doing.words}")
        status = _INTERRUPTED
    except BrokenPipeError:
        status = _PIPE_CLOSED
    except OSError as error:
        _report(f"the output could not be written: {error.strerror or error}")
        status = _WRITE_FAILED
    _discard_output()
    return status


def _discard_output() -> None:
    """Drop what is still buffered: Python would try to write it again when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        os.dup2(nowhere, stream.fileno())


def _report(what: str) -> None:
    """Write one line to standard error, if it can be written to at all."""
    with suppress(OSError):
        # Not through Python's buffer, in which a failed write may still be waiting.
        os.write(sys.stderr.fileno(), f"attnlab: {what}.\n".encode())
