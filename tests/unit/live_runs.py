"""Waiting for live runs, and comparing what they leave."""

import threading
import time

import jax
import numpy as np

from attnlab.runs.run import Run
from attnlab.training.experiment import prepare
from attnlab.training.loop import run
from tests.unit.small_experiments import small

# Only reached when something hangs.
PATIENCE = 60.0
LONG = small(steps=100_000)


class Clock:
    """Seconds that a test counts."""

    now = 1_000.0

    def __call__(self):
        return self.now


def training_threads():
    return [thread for thread in threading.enumerate() if thread.name == "attnlab-run"]


def until(condition):
    """Poll until the condition holds; fail if it does not in time."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.002)


def finished(run):
    run.start()
    assert run.wait(PATIENCE)
    return run.snapshot()


def trained(experiment):
    """The run of an experiment to its last step, without a thread."""
    setup = prepare(experiment)
    record = Run(experiment, setup.state)
    for event in run(experiment, setup=setup):
        record = record.after(event)
    return record


def paused_after(run, steps):
    for _ in range(steps):
        run.step()
    assert run.wait(PATIENCE)
    return run.snapshot()


def weights_of(run):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(run.stored().state)]


def assert_same_history(one, other):
    np.testing.assert_array_equal(one.losses, other.losses)
    assert one.tests == other.tests
    assert [step for step, _ in one.checkpoints] == [step for step, _ in other.checkpoints]
    for (_, a), (_, b) in zip(one.checkpoints, other.checkpoints, strict=True):
        for part, other_part in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
            np.testing.assert_array_equal(part, other_part)


def assert_same_run(one, other):
    assert_same_history(one.snapshot().history, other.snapshot().history)
    for a, b in zip(weights_of(one), weights_of(other), strict=True):
        np.testing.assert_array_equal(a, b)
