"""How a command ends before its time: by Ctrl-C, a closed pipe or a failed write.

Ctrl-C: one line that says how far it came, and status 130 = 128 + SIGINT. A closed pipe, such as
that to `head -1`: silence, and status 141 = 128 + SIGPIPE, which is what shells report of any
program that ends so; scripts that let `seq` be cut short let this be too. A write that fails, such
as that to a full disk: one line with the reason, and status 1. Both hold for standard error too.
"""

import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

_INTERRUPTED, _PIPE_CLOSED, _WRITE_FAILED = 130, 141, 1


class Doing:
    """What a command is doing, in words that go on from "interrupted"."""

    def __init__(self, words: str = "while starting"):
        self.words = words


def is_installed_command() -> bool:
    """Whether this process is the command that `pip install` makes."""
    name, _ = os.path.splitext(os.path.basename("".join(sys.argv[:1])))
    return name == "attnlab"


def end_when_interrupted(doing: Doing) -> None:
    """From now on Ctrl-C ends the process at once, with a line that says what it was doing.

    A process that was told to ignore Ctrl-C goes on ignoring it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    threading.Thread(target=_end_on_signal, args=(reader, writer, doing), daemon=True).start()
    # A KeyboardInterrupt would wait for compiled code to return, and is lost where it is raised
    # in a callback, or while a library imports what it can do without.
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, lambda *_: None)


def _end_on_signal(reader: socket.socket, _writer: socket.socket, doing: Doing) -> None:
    # The writer is held here, since it is closed when nobody has it.
    reader.recv(1)
    _tell(f"interrupted {doing.words}")
    os._exit(_INTERRUPTED)


def status_of(command: Callable[[], int]) -> int:
    """Run a command; its exit status, or that of an output which could not be written."""
    if sys.stderr is None:
        # Closed by the user; `print` would take None for standard output.
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "standard output is closed")
        try:
            status = command()
        except SystemExit as end:
            status = end.code
        sys.stdout.flush()
        sys.stderr.flush()
        return status
    except BrokenPipeError:
        status = _PIPE_CLOSED
    except OSError as error:
        _tell(f"the output could not be written: {error.strerror or error}")
        status = _WRITE_FAILED
    _discard_output()
    return status


def _discard_output() -> None:
    """Let go of what is left: Python would try to write it again when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        os.dup2(nowhere, stream.fileno())


def _tell(what: str) -> None:
    """One line to standard error, if it can be written to at all."""
    if sys.stderr is not None:
        with suppress(OSError):
            # Past Python's buffer, which another thread may be holding.
            os.write(sys.stderr.fileno(), f"attnlab: {what}.\n".encode())
