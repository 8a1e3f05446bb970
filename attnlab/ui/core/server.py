"""The server: what its environment says, its queue and memory, and what it does at its start.

`ATTNLAB_HOSTED=1` sets the limits of a shared server. `ATTNLAB_TRAININGS` is how many runs train
at once; without it a hosted server leaves one core to the pages, and another server has no limit.
`ATTNLAB_CACHE=off` keeps no compiled programs, and another value names their folder.
"""

import ctypes
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

from attnlab.configuration.environment import check_devices, read_count, read_folder
from attnlab.configuration.numerics import fix_numerics
from attnlab.configuration.options import OptionError
from attnlab.live.jobs import WorkQueue
from attnlab.training.limits import HOSTED, OPEN, Limits

# Streamlit forgets a session two minutes after its tab was closed.
_SECONDS_UNTIL_FORGOTTEN = 125.0
_SECONDS = 5.0
# Shares of what the server may hold. Above the first what can be spared is freed; above the second
# long computations pause.
_PLENTY, _FULL = 0.6, 0.85
# The memory of a container, by versions of Linux's control groups.
_CONTAINER_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
# Freed again only when this much more is held than after the last time.
_GROWTH = 100_000_000


class Memory:
    """Frees what closed sessions held, and reports when the server is full.

    The state of a closed session has reference cycles, which Python collects late, and compiled
    programs stay as long as the process. So both are freed after sessions have ended, and whenever
    the server holds more than it should.

    Args:
        most: How many bytes the process may hold.
        used: Returns how many it holds.
        give_back: Frees what is not needed.
        clock: Counts seconds.
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
        # When to collect next, and when the state of the latest session to end is forgotten.
        self._due, self._latest = math.inf, -math.inf
        self._held = 0
        self.is_full = False

    def session_ended(self) -> None:
        """Have the state of a session freed once Streamlit has forgotten it."""
        self._latest = self._clock() + _SECONDS_UNTIL_FORGOTTEN
        self._due = min(self._due, self._latest)

    def look(self) -> None:
        """Free memory if it is time, or if the process holds much."""
        now = self._clock()
        is_due = now >= self._due
        if is_due:
            # Sessions that ended after the first one are forgotten later than it.
            self._due = self._latest if self._latest > now else math.inf
        if is_due or self._used() > max(_PLENTY * self._most, self._held + _GROWTH):
            self._give_back()
            self._held = self._used()
        self.is_full = self._used() > _FULL * self._most

    def watch(self) -> None:
        """Look every five seconds, without end. For a separate thread."""
        while True:
            time.sleep(_SECONDS)
            self.look()


def give_memory_back() -> None:
    """Free cyclic garbage and all compiled programs, and return the memory to the system.

    A run that still trains compiles its program again.
    """
    jax.clear_caches()
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def bytes_of_server() -> float:
    """Return `ATTNLAB_MEMORY`, or what the container or machine has; infinite if unknown."""
    if megabytes := read_count("ATTNLAB_MEMORY"):
        return megabytes * 1e6
    found = [math.inf]
    if hasattr(os, "sysconf"):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    limits = [limit.read_text().strip() for limit in _CONTAINER_LIMITS if limit.exists()]
    return min(*found, *(int(text) for text in limits if text.isdecimal()), math.inf)


def _resident_bytes() -> int:
    """Return how much memory the process holds; 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


_YES = ("1", "true", "yes", "on")
_NO = ("", "0", "false", "no", "off")
# A server on the user's own machine frees what it can above this.
_DESKTOP_BYTES = 4e9


def hosted() -> bool:
    """Return whether strangers share this server: `ATTNLAB_HOSTED=1`."""
    text = os.environ.get("ATTNLAB_HOSTED", "")
    if text.lower() not in _YES + _NO:
        raise ValueError(f"`ATTNLAB_HOSTED` is {text!r}. Set it to 1 or 0.")
    return text.lower() in _YES


def environment_problem() -> str:
    """Return what is wrong with the server's environment, or ""."""
    try:
        _places()
        bytes_of_server()
        check_devices()
    except ValueError as error:
        return str(error)
    return ""


def limits() -> Limits:
    """Return the limits of every run on this server."""
    return HOSTED if hosted() else OPEN


@st.cache_resource(show_spinner=False)
def work_queue() -> WorkQueue:
    """Return the queue of all jobs of this server."""
    return WorkQueue(
        _places(),
        seconds=limits().seconds,
        patience=limits().patience,
        is_full=(lambda: memory().is_full) if hosted() else (lambda: False),
    )


def _places() -> float:
    usual = max(1, (os.cpu_count() or 1) - 1) if hosted() else math.inf
    return read_count("ATTNLAB_TRAININGS") or usual


@st.cache_resource(show_spinner=False)
def memory() -> Memory:
    """Return the memory of this server; its thread runs as long as the process."""
    most = bytes_of_server() if hosted() else min(bytes_of_server(), _DESKTOP_BYTES)
    made = Memory(most=most)
    threading.Thread(target=made.watch, name="attnlab-memory", daemon=True).start()
    return made


def switch_on_cache() -> Path | None:
    """Keep compiled programs on disk; return the folder, or None if they are not kept.

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
        # A home that cannot be written to costs time, not the app.
        return None
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # Ours are many small programs, which JAX would not keep by default.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return folder


def prepare_server() -> None:
    """Fix what numbers depend on, keep compiled programs, and watch the memory. Once, at start."""
    if not environment_problem():
        fix_numerics()
        switch_on_cache()
        memory()
