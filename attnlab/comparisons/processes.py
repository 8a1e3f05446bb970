"""Worker processes on this machine."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection, wait
from typing import Any

from attnlab.configuration.options import AttnlabError

# Compiled programs stay in a worker until it ends: some 30 MB for each shape.
_TASKS_A_WORKER = 50


_STDIN = (
    "Workers import the program that starts them, and this one is read from standard input. "
    "Save it as a file and run that."
)
_NO_GUARD = (
    "The worker processes ended before their first task. Each of them imports the script that "
    'starts them: put its code below a line `if __name__ == "__main__":`.'
)


class WorkersError(AttnlabError, RuntimeError):
    """The worker processes cannot start. States the problem and the remedy."""


class Processes(Executor):
    """A standard pool of processes that replaces itself when it breaks.

    A killed worker breaks a standard pool permanently, and all its tasks are lost; here the next
    `submit` starts a new pool. Workers are spawned, since XLA does not survive a fork, and each
    computes with `threads` threads. The first `submit` waits until a worker has started, and raises
    `WorkersError` if none can. Workers end with this process, however it ends, and when an
    exception, such as that of Ctrl-C, leaves a `with` block of the pool.
    """

    def __init__(self, workers: int, *, threads: int = 1):
        if workers < 1:
            raise ValueError(f"`workers` is {workers!r}. Choose a whole number from 1.")
        if _is_imported_by_a_worker():
            # Silently: the process that starts workers reports the error.
            sys.exit(1)
        self.workers, self._threads = workers, threads
        self._lock, self._started = threading.Lock(), False
        # Only this process has the writing end. Workers end when it is closed.
        self._alive, self._lifeline = multiprocessing.get_context("spawn").Pipe(duplex=False)
        self._pool = self._new_pool()

    def _new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self.workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin_worker,
            initargs=(self._threads, self._alive),
            max_tasks_per_child=_TASKS_A_WORKER,
        )

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future:
        with self._lock:
            if not self._started:
                self._start()
            try:
                future = self._submit(function, *arguments, **named)
            except BrokenProcessPool:
                self._pool.shutdown(wait=False)
                self._pool = self._new_pool()
                future = self._submit(function, *arguments, **named)
        # A pool without references is not closed before its tasks are done.
        lifeline = self._lifeline
        future.add_done_callback(lambda _: lifeline)
        return future

    def _submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future:
        """Submit with Ctrl-C blocked in new workers: Python would print a traceback."""
        if os.name != "posix":
            return self._pool.submit(function, *arguments, **named)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return self._pool.submit(function, *arguments, **named)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _start(self) -> None:
        main = sys.modules["__main__"]
        file = getattr(main, "__file__", None)
        if main.__spec__ is None and file is not None and not os.path.exists(file):
            raise WorkersError(_STDIN)
        try:
            self._submit(os.getpid).result()
        except BrokenProcessPool:
            raise WorkersError(_NO_GUARD) from None
        self._started = True

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._lock:
            self._pool.shutdown(wait, cancel_futures=cancel_futures)

    def __exit__(self, kind, error, trace) -> None:
        if kind is not None:
            self._lifeline.close()
        # Semaphores of the pool are released only when its last worker has ended.
        self.shutdown()


def _begin_worker(threads: int, alive: Any) -> None:
    # XLA reads it when the first program runs, later than this.
    os.environ["NPROC"] = str(threads)
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        # Ctrl-C in a terminal also reaches workers, which then end without a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if os.name == "posix":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _end_with(alive: Connection) -> None:
    """End this process when the other end of the pipe is closed."""
    wait([alive])
    os._exit(1)


def _is_imported_by_a_worker() -> bool:
    """Return whether a spawned process imports the main script, and called this on the way."""
    script = sys.modules.get("__mp_main__")
    return script is not None and script is not sys.modules["__main__"]
