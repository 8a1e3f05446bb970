"""Slow numbers about processes, computed in the background once for all sessions."""

import collections
import dataclasses
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

import numpy as np
import streamlit as st

from attnlab.configuration.cancellation import Stopped, listening
from attnlab.configuration.options import AttnlabError
from attnlab.generators import AbstractGenerator
from attnlab.optimum import FEW_BELIEFS, Best, baselines_of, frequencies, optimum
from attnlab.training.experiment import Experiment
from attnlab.training.limits import feasibility
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.session import session

# Seconds that a page waits for missing numbers before it is drawn without them.
_UNNOTICED = 0.1
_BETWEEN_RERUNS = 1.0
# These enumerate all beliefs, which may be slow, or estimate if there are too many.
_ENUMERATED = (optimum, frequencies, baselines_of)
_ENUMERATING = (*_ENUMERATED, feasibility)


class Pending(Exception):
    """Something that is still being computed; the message says what, or is empty."""


@contextmanager
def waiting(words: str = "Computing …") -> Iterator[None]:
    """Draw a note in place of the rest of the block once it raises `Pending`."""
    try:
        yield
    except Pending as pending:
        st.caption(f":material/hourglass_top: {pending or words}")


# A function and its arguments, which are hashable.
Key = tuple[Any, ...]


@dataclasses.dataclass
class _Entry:
    future: Future = dataclasses.field(default_factory=Future)
    askers: weakref.WeakSet = dataclasses.field(default_factory=weakref.WeakSet)


class FutureCache:
    """A bounded, thread-safe cache of futures, computed by a pool of threads.

    A key is a pure function and its arguments, an `asker` any object that needs the result. A key
    without askers is cancelled, before it starts or at its next `check_in`.
    Each asker has at most one thread at a time, so that its slow keys leave one to the others.

    Args:
        workers: Number of threads.
        most: Maximum number of cached results.
    """

    def __init__(self, workers: int = 2, most: int = 128):
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="attnlab-figures")
        self._most = most
        self._entries: collections.OrderedDict[Key, _Entry] = collections.OrderedDict()
        # In order of arrival.
        self._waiting: list[tuple[_Entry, Key]] = []
        self._running: list[_Entry] = []

    def submit(self, key: Key, asker: object) -> Future:
        """Return the future of a key's result. The cache keeps only a weak reference to `asker`."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry.future.cancelled():
                entry = self._entries[key] = _Entry()
                self._waiting.append((entry, key))
            if asker not in entry.askers:
                entry.askers.add(asker)
                self._pool.submit(self._work)
            self._entries.move_to_end(key)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)
            return entry.future

    def release(self, key: Key, asker: object) -> None:
        """Note that `asker` no longer needs the result of the key."""
        with self._lock:
            if key in self._entries:
                self._entries[key].askers.discard(asker)

    def put(self, key: Key, result: Any) -> None:
        """Store a result that was computed elsewhere."""
        entry = _Entry()
        entry.future.set_result(result)
        with self._lock:
            self._entries[key] = entry

    def _work(self) -> None:
        """Compute the keys that may run; those that must wait for a running one follow it."""
        while (found := self._next()) is not None:
            _compute(*found)
            with self._lock:
                self._running.remove(found[0])

    def _next(self) -> tuple[_Entry, Key] | None:
        with self._lock:
            busy = {asker for entry in self._running for asker in entry.askers}
            for place, (entry, _) in enumerate(self._waiting):
                # One without askers is cancelled.
                if not entry.askers or not busy.issuperset(entry.askers):
                    self._running.append(entry)
                    return self._waiting.pop(place)
            return None

    def known(self, key: Key) -> bool:
        """Return whether the result or error is known, without computing it."""
        with self._lock:
            entry = self._entries.get(key)
        return entry is not None and entry.future.done() and not entry.future.cancelled()


def _compute(entry: _Entry, key: Key) -> None:
    def check() -> None:
        if not entry.askers:
            raise Stopped

    function, *arguments = key
    try:
        with listening(check):
            check()
            result = function(*arguments)
    except Stopped:
        entry.future.cancel()
        entry.future.set_running_or_notify_cancel()
    # Raised in the thread that asks for the result.
    except BaseException as error:
        entry.future.set_exception(error)
    else:
        entry.future.set_result(result)


@st.cache_resource(show_spinner=False)
def _cache() -> FutureCache:
    return FutureCache()


def figure(function: Callable[..., Any], *arguments: Hashable) -> Any:
    """Return the result of a slow pure function if it is known, else None.

    If it is not known, compute it in the background and rerun the page when it arrives. If exact
    enumeration would take long, the result is an estimate until `enumerate_exactly` has run. An
    `AttnlabError` of the function is shown and ends the page; any other error is a fault.
    """
    key = _key_of(function, *arguments)
    if not _ask(key):
        return None
    future = _cache().submit(key, session().asker)
    if isinstance(error := future.exception(), AttnlabError):
        draw_error(str(error))
        st.stop()
    return future.result()


def is_known(function: Callable[..., Any], *arguments: Hashable) -> bool:
    """Return whether `figure` has a result; if not, start computing it."""
    return _ask(_key_of(function, *arguments))


def known_losses(experiment: Experiment, baselines: Sequence[str]) -> dict[str, Best]:
    """Return accuracy and loss of uniform guess, floor and these baselines, where known."""
    vocab = experiment.generator.vocabulary.size
    known = {"uniform guess": Best(float(np.log(vocab)), 1 / vocab)}
    for baseline in figure(baselines_of, experiment.generator, experiment.length) or ():
        if baseline.name in baselines:
            known[baseline.name] = baseline.best
    best = figure(optimum, experiment.generator, experiment.length)
    if best is not None:
        known[experiment.generator.best_words.floor] = best.final
    return {n if each.exact else f"{n} (estimated)": each for n, each in known.items()}


def _ask(key: Key) -> bool:
    current, cache = session(), _cache()
    current.requested.add(key)
    if key in current.stopped and not cache.known(key):
        return False
    future = cache.submit(key, current.asker)
    wait([future], timeout=max(0.0, current.deadline - time.monotonic()))
    if not cache.known(key):
        current.missing.add(key)
        return False
    return True


def _key_of(function: Callable[..., Any], *arguments: Hashable) -> Key:
    if function in _ENUMERATING:
        subject, *rest = arguments
        if isinstance(subject, Experiment):
            process = subject.generator, subject.length
        else:
            process = subject, *rest
        if not all(_cache().known((each, *process)) for each in _ENUMERATED):
            return function, *arguments, FEW_BELIEFS
    return function, *arguments


def enumerate_exactly(generator: AbstractGenerator, length: int) -> Iterator[str]:
    """Compute the exact values that pages otherwise estimate; yield a text before each step."""
    for number, function in enumerate(_ENUMERATED, 1):
        yield f"{function.__name__}, {number} of {len(_ENUMERATED)}"
        _cache().put((function, generator, length), function(generator, length))


def compute_figures(*keys: Key) -> None:
    """Compute results, each given as a function and its arguments, and wait for all of them."""
    asker = threading.Event()
    wait([_cache().submit(_key_of(*key), asker) for key in keys])


def begin_figures() -> set[Key]:
    """Start a full rerun of a page; return the keys that the previous rerun requested."""
    current = session()
    before, current.requested, current.missing = current.requested, set(), set()
    current.deadline = time.monotonic() + _UNNOTICED
    return before


def end_figures(before: set[Key]) -> None:
    """Cancel what the page no longer needs, and rerun the page when a missing result arrives.

    Args:
        before: The return value of `begin_figures`.
    """
    current = session()
    for key in before - current.requested:
        _cache().release(key, current.asker)
    current.stopped &= current.requested

    waited, began = len(current.missing), time.monotonic()

    def missing() -> int:
        # Submit again, since another session may just have cancelled the computation.
        left = sum(not _cache().submit(key, current.asker).done() for key in current.missing)
        # Rerun at most once a second while results are missing, and at once after the last one.
        return left if left == 0 or time.monotonic() > began + _BETWEEN_RERUNS else waited

    draw_while(missing, lambda: None, key="figures", waited=waited)


def draw_figures_status(*keys: Key) -> None:
    """Draw the number of missing results with a Stop button, or Compute after a stop."""
    current = session()
    keys = tuple(_key_of(*key) for key in keys)
    left = [key for key in keys if not _cache().known(key)]
    if not left:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        if current.stopped.intersection(left):
            st.caption("Stopped: some numbers below were not computed.")
            draw_button("Compute", "figures_go_on", "play_arrow", current.stopped.clear)
        else:
            done = len(keys) - len(left)
            st.caption(
                f":material/hourglass_top: Computing the numbers below: {done} of {len(keys)} …"
            )
            draw_button("Stop", "figures_stop", "stop", _stop, left)


def _stop(keys: list[Key]) -> None:
    current = session()
    current.stopped.update(keys)
    for key in keys:
        _cache().release(key, current.asker)


def draw_gap() -> None:
    """Draw a note in place of a missing result: it is being computed, or was stopped."""
    current = session()
    if current.stopped & current.requested:
        st.caption("Not computed: stopped above.")
    else:
        st.caption(":material/hourglass_top: Computing this result in the background …")
