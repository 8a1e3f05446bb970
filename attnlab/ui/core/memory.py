"""Memory that a server gives back.

The state of a closed session hangs together in cycles, which Python collects late, and compiled
programs stay as long as the process. A thread collects both after sessions have ended, and whenever
the server holds more than it should.
"""

import ctypes
import gc
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import jax
import streamlit as st

from attnlab.configuration.environment import read_count
from first_paint.hosting import hosted

# Streamlit forgets a session two minutes after its tab was closed.
_SECONDS_UNTIL_FORGOTTEN = 125.0
_SECONDS = 5.0
# Shares of what the server may hold. Above the first what can be spared is freed; above the second
# long computations pause.
_PLENTY, _FULL = 0.6, 0.85
# Where a container says how much it has, by versions of Linux's control groups.
_CONTAINER_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
# Freed again only when this much more is held than after the last time.
_GROWTH = 100_000_000


class Memory:
    """Collects what sessions leave behind, and says when the server is full.

    `most` is how many bytes the process may hold, and `used` returns how many it does. `give_back`
    frees what nothing needs, and `clock` counts seconds.
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
        """Collect its state once Streamlit has forgotten it."""
        self._latest = self._clock() + _SECONDS_UNTIL_FORGOTTEN
        self._due = min(self._due, self._latest)

    def look(self) -> None:
        """Collect if it is time, or if the process holds much."""
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
        """Look again and again. For a thread that does nothing else."""
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


@st.cache_resource(show_spinner=False)
def memory() -> Memory:
    """Return that of this server; its thread runs as long as the process."""
    made = Memory(most=bytes_of_server())
    threading.Thread(target=made.watch, name="attnlab-memory", daemon=True).start()
    return made


def note_session() -> None:
    """Have the memory of this session collected when it has ended, on a hosted server."""
    if hosted():
        _of_session()


@st.cache_resource(scope="session", on_release=Memory.session_ended, show_spinner=False)
def _of_session() -> Memory:
    return memory()
