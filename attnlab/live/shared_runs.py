"""Finished runs of a server, so that equal runs of several visitors are computed once."""

import collections
import threading

import jax

from attnlab.live.progress import Autosave, RunProgress
from attnlab.training.experiment import Experiment


class SharedRuns:
    """The last finished runs, by experiment. Thread-safe.

    An experiment determines its run, so that a stored run equals what a visitor would train. It
    contains no names, tags or notes.

    Args:
        most_bytes: Maximum size of all stored runs; the oldest are dropped.
    """

    def __init__(self, most_bytes: int):
        self._most_bytes, self._lock = most_bytes, threading.Lock()
        self._runs: collections.OrderedDict[Experiment, tuple[RunProgress, int]]
        self._runs = collections.OrderedDict()

    def __contains__(self, experiment: object) -> bool:
        with self._lock:
            return experiment in self._runs

    def get(self, experiment: Experiment) -> RunProgress | None:
        """Return the finished run of an experiment, if it is stored. Do not change it."""
        with self._lock:
            return self._runs.get(experiment, (None, 0))[0]

    def put(self, run: RunProgress) -> None:
        """Store a finished run, unless it is too large."""
        kept = RunProgress(run.experiment, Autosave())
        kept.take_over(run)
        models = run.latest, run.history.checkpoints
        parts = jax.tree.leaves((run.setup, run.state, run.history.losses, models))
        size = sum(getattr(part, "nbytes", 0) for part in parts)
        if size > self._most_bytes:
            return
        with self._lock:
            self._runs.pop(run.experiment, None)
            self._runs[run.experiment] = kept, size
            while sum(each for _, each in self._runs.values()) > self._most_bytes:
                self._runs.popitem(last=False)
