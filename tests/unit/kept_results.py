"""Results to keep in a library, and runs that need no training."""

import dataclasses
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jax
import numpy as np

from attnlab.runs.history import Curve, current_versions, empty_history
from attnlab.runs.run import Run
from attnlab.runs.run_summary import RunSummary
from attnlab.training.changes import Change
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import abstract_state
from tests.unit.small_experiments import SMALL_LINEAR, small

TESTS = ((0, Evaluation(1.1, 0.1, 0.3, 0.02)), (60, Evaluation(1.0, 0.1, 0.4, 0.02)))


class Clock:
    """Says a time a second later whenever it is asked, or one that it is set to."""

    def __init__(self):
        self.now = datetime(2026, 5, 1, tzinfo=UTC)

    def __call__(self):
        self.now += timedelta(seconds=1)
        return self.now


def result_of(experiment=SMALL_LINEAR, *, seed=0, run=None, **changes):
    """A result that is done, with a curve and tests."""
    fields = {
        "state": "done",
        "evaluation": TESTS[-1][1],
        "steps": 60,
        "seconds": 1.25,
        "parameters": 39,
        "tests": TESTS,
        "curve": Curve(np.arange(0, 60, 2), np.linspace(2.0, 1.0, 30)),
        "run": run,
    }
    return RunSummary(small(experiment, seed=seed), **(fields | changes))


def run_of(experiment=SMALL_LINEAR, *, seed=0, fill=0.5, changed=False):
    """A run with the same number in every place, continued with another batch or as it began."""
    experiment = small(experiment, seed=seed)

    def filled(leaf):
        value = 60 if np.issubdtype(leaf.dtype, np.integer) else fill
        return np.full(leaf.shape, value, leaf.dtype)

    state = jax.tree.map(filled, abstract_state(experiment))
    history = empty_history().with_losses(np.full(60, fill, np.float32))
    if changed:
        history = history.after(Change(30, (("batch", 10, experiment.training.batch),)))
    return Run(experiment, state, history)


def assert_same(one, other):
    """Two summaries are equal but for their runs and what a library adds, arrays by value and type.

    None for versions stands for those of this process.
    """
    now = current_versions()
    one, other = (dataclasses.replace(r, versions=r.versions or now) for r in (one, other))
    for field in dataclasses.fields(RunSummary):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name == "curve":
            for x, y in zip(a, b, strict=True):
                assert x.dtype == y.dtype
                np.testing.assert_array_equal(x, y)
        elif field.name == "evaluation" and a is not None:
            np.testing.assert_array_equal(np.array(a, float), np.array(b, float))
        elif field.name == "number":
            break
        elif field.name != "run":
            assert a == b, field.name


def run_files(folder: Path) -> list[Path]:
    """The files of runs that are in a folder or below it, also such as are half written."""
    return sorted(folder.rglob("*.run*"))
