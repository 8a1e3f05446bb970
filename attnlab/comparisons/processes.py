"""Worker processes on this machine."""

import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

# Compiled programs stay in a worker until it ends: some 30 MB for each shape.
_TASKS_A_WORKER = 50


class Processes(Executor):
    """The standard pool of processes, of which a broken one is replaced by a new one.

    A worker that is killed breaks a standard pool for good, and all tasks in it are lost; the next
    `submit` begins a new one. Workers are spawned, since XLA does not survive a fork, and each
    computes with `threads` threads.
    """

    def __init__(self, workers: int, *, threads: int = 1):
        if workers < 1:
            raise ValueError(f"`workers` is {workers!r}. Choose a whole number from 1.")
        self.workers, self._threads = workers, threads
        self._lock = threading.Lock()
        self._pool = self._new_pool()

    def _new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self.workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_set_threads,
            initargs=(self._threads,),
            max_tasks_per_child=_TASKS_A_WORKER,
        )

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future:
        with self._lock:
            try:
                return self._pool.submit(function, *arguments, **named)
            except BrokenProcessPool:
                self._pool.shutdown(wait=False)
                self._pool = self._new_pool()
                return self._pool.submit(function, *arguments, **named)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._lock:
            self._pool.shutdown(wait, cancel_futures=cancel_futures)


def _set_threads(threads: int) -> None:
    # XLA reads it when the first program runs, later than this.
    os.environ["NPROC"] = str(threads)
