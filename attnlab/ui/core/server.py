"""The server: its environment variables, queue and memory, and its start.

`ATTNLAB_HOSTED=1` sets the limits of a shared server. `ATTNLAB_TRAININGS` is how many runs train at
once; by default a hosted server leaves one core to the pages, and other servers have no limit.
`ATTNLAB_CACHE=off` keeps no compiled programs; other values name the folder for them.
`ATTNLAB_LESSONS` is a folder of lessons that links can name.
"""

import collections
import ctypes
import dataclasses
import gc
import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import jax
import streamlit as st
from platformdirs import user_cache_path

from attnlab.configuration.environment import (
    bytes_of_machine,
    check_devices,
    read_count,
    read_folder,
)
from attnlab.configuration.numerics import fix_numerics
from attnlab.configuration.options import OptionError
from attnlab.live.jobs import WorkQueue
from attnlab.live.progress import SharedRuns
from attnlab.training.limits import HOSTED, OPEN, Limits

# A session can return for two minutes after its tab was closed.
_SECONDS_UNTIL_FORGOTTEN = 125.0
_SECONDS = 5.0
# Shares of the allowed memory. Above the first, memory is freed; above the second, long
# computations pause.
_PLENTY, _FULL = 0.6, 0.85
# Memory is freed again only when the process holds this many bytes more than after the last time.
_GROWTH = 100_000_000
# Memory for finished runs that visitors share: hundreds of small ones, or a few of the largest.
_SHARED_BYTES, _SHARED = 100_000_000, 0.05


class Memory:
    """Free the memory of closed sessions, and report when the server is full.

    The state of a closed session has reference cycles, which Python collects late, and compiled
    programs stay as long as the process. So both are freed after sessions have ended, and whenever
    the process uses too much memory.

    Args:
        most: Maximum number of bytes that the process may use.
        used: Returns the number of bytes in use.
        give_back: Frees memory that is not needed.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        *,
        most: float,
        used: Callable[[], int] | None = None,
        give_back: Callable[[], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._used, self._give_back = used or _resident_bytes, give_back or give_memory_back
        self._most, self._clock = most, clock
        # The function that frees each ended session, with its time. `_due` is when to collect next.
        self._ended: collections.deque[tuple[float, Callable[[], None]]] = collections.deque()
        self._due, self._latest = math.inf, -math.inf
        self._held = 0
        self.is_full = False

    def session_ended(self, forget: Callable[[], None]) -> None:
        """Call `forget`, which frees an ended session, when the session can no longer return."""
        self._latest = self._clock() + _SECONDS_UNTIL_FORGOTTEN
        self._ended.append((self._latest, forget))
        self._due = min(self._due, self._latest)

    def look(self) -> None:
        """Free memory if a session has ended or the process uses too much; update `is_full`."""
        now = self._clock()
        while self._ended and self._ended[0][0] <= now:
            self._ended.popleft()[1]()
        is_due = now >= self._due
        if is_due:
            # Sessions that ended later are also forgotten later.
            self._due = self._latest if self._latest > now else math.inf
        if is_due or self._used() > max(_PLENTY * self._most, self._held + _GROWTH):
            self._give_back()
            self._held = self._used()
        self.is_full = self._used() > _FULL * self._most

    def watch(self) -> None:
        """Check the memory every five seconds, forever. Run it in a separate thread."""
        while True:
            time.sleep(_SECONDS)
            self.look()


def give_memory_back() -> None:
    """Free cyclic garbage and all compiled programs, and return the memory to the system.

    Training runs compile their programs again.
    """
    jax.clear_caches()
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _resident_bytes() -> int:
    """Return the resident memory of the process; 0 where the system does not report it."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


_YES = ("1", "true", "yes", "on")
_NO = ("", "0", "false", "no", "off")
# A server on the user's own machine frees memory above this.
_DESKTOP_BYTES = 4e9


def hosted() -> bool:
    """Return whether this server is shared (`ATTNLAB_HOSTED=1`)."""
    text = os.environ.get("ATTNLAB_HOSTED", "")
    if text.lower() not in _YES + _NO:
        raise ValueError(f"`ATTNLAB_HOSTED` is {text!r}. Set it to 1 or 0.")
    return text.lower() in _YES


def environment_problem() -> str:
    """Return the problem with the server's environment variables, or ""."""
    try:
        _places()
        bytes_of_machine()
        check_devices()
    except ValueError as error:
        return str(error)
    return ""


def limits() -> Limits:
    """Return the limits of every run on this server."""
    return HOSTED if hosted() else dataclasses.replace(OPEN, memory=bytes_of_machine())


@st.cache_resource(show_spinner=False)
def work_queue() -> WorkQueue:
    """Return the queue of all jobs of this server."""
    return WorkQueue(
        _places(),
        seconds=limits().seconds,
        patience=limits().patience,
        is_full=(lambda: memory().is_full) if hosted() else (lambda: False),
    )


@st.cache_resource(show_spinner=False)
def _finished_runs() -> SharedRuns:
    return SharedRuns(min(_SHARED_BYTES, int(_SHARED * bytes_of_machine())))


def shared_runs() -> SharedRuns | None:
    """Return the finished runs that visitors share on a hosted server, or None elsewhere."""
    return _finished_runs() if hosted() else None


def lessons_folder() -> Path | None:
    """Return the folder of named lessons (`ATTNLAB_LESSONS`), or None if there is none."""
    text = os.environ.get("ATTNLAB_LESSONS", "").strip()
    return Path(text) if text else None


def _places() -> float:
    usual = max(1, (os.cpu_count() or 1) - 1) if hosted() else math.inf
    return read_count("ATTNLAB_TRAININGS") or usual


@st.cache_resource(show_spinner=False)
def memory() -> Memory:
    """Return the memory monitor of this server; its thread runs as long as the process."""
    most = bytes_of_machine() if hosted() else min(bytes_of_machine(), _DESKTOP_BYTES)
    made = Memory(most=most)
    threading.Thread(target=made.watch, name="attnlab-memory", daemon=True).start()
    return made


def switch_on_cache() -> Path | None:
    """Keep compiled programs on disk; return the folder, or None if nothing is kept.

    A hosted server writes nothing to disk. Call it before the first program is compiled.
    """
    try:
        folder = read_folder("ATTNLAB_CACHE", user_cache_path("attnlab") / "programs")
    except OptionError as error:
        logging.getLogger(__name__).warning("%s Compiled programs are not kept.", error)
        return None
    if hosted() or folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        # A home folder without write access costs time, but not the app.
        return None
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # attnlab has many small programs, which JAX would not keep by default.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return folder


def prepare_server() -> None:
    """Fix numerics, keep compiled programs, and watch the memory. Called once, at start."""
    if not environment_problem():
        fix_numerics()
        switch_on_cache()
        memory()
