"""Equal runs of several visitors are computed once, and are what each would have trained alone."""

import jax
import numpy as np
import pytest

import attnlab.training.loop
from attnlab.live.jobs import WorkQueue
from attnlab.live.progress import Autosave, RunProgress, SharedRuns
from attnlab.runs.history import empty_history
from tests.unit.live_runs import (
    LONG,
    PATIENCE,
    assert_same_run,
    finished,
    paused_after,
    trained,
    until,
    weights_of,
)
from tests.unit.small_experiments import SMALL, small

DIVERGING = small(learning_rate=1e3)


@pytest.fixture
def visit(live):
    """Makes the runs of visitors of one server, and leaves no thread behind."""
    server = {"queue": WorkQueue(1), "shared": SharedRuns(100_000_000)}
    return lambda experiment=SMALL, **others: live(experiment, **server | others)


@pytest.fixture
def chunks(monkeypatch):
    """The chunks of steps that were trained."""
    real, seen = attnlab.training.loop.advance, []

    def noted(*arguments, **options):
        seen.append(arguments)
        return real(*arguments, **options)

    monkeypatch.setattr(attnlab.training.loop, "advance", noted)
    return seen


def training(run):
    run.start()
    until(lambda: run.snapshot().step > 0)
    return run


def waiting(run):
    run.start()
    seen = run.snapshot()
    assert (seen.state, seen.step) == ("compiling", 0)
    assert seen.has_twin
    assert seen.message == "another visitor is training the same run"
    return run


@pytest.mark.slow
def test_a_later_visitor_gets_the_run_that_training_alone_gives(visit, chunks):
    saved = []
    first = visit()
    finished(first)
    trained_before = len(chunks)
    later = visit(keep=lambda result, before: saved.append(result))
    seen = finished(later)
    assert len(chunks) == trained_before > 0
    assert_same_run(first, later)
    assert (seen.state, seen.step, seen.latest.step, seen.message) == ("done", 60, 60, "")
    for ours, theirs in zip(weights_of(later), jax.tree.leaves(trained(SMALL).state), strict=True):
        np.testing.assert_array_equal(ours, np.asarray(theirs))
    assert (later.test_sequences() == first.test_sequences()).all()
    (result,) = saved
    assert (result.state, result.steps) == ("done", 60)


@pytest.mark.slow
def test_those_who_wait_get_the_finished_run(visit):
    queue = WorkQueue(8)
    first = visit(small(steps=3_000), queue=queue)
    training(first)
    others = [visit(first.experiment, queue=queue) for _ in range(3)]
    for each in others:
        each.start()
    assert all(each.wait(PATIENCE) for each in (first, *others))
    for each in others:
        assert each.snapshot().state == "done"
        assert_same_run(first, each)


@pytest.mark.slow
def test_when_the_first_leaves_the_next_trains_and_the_rest_wait(visit):
    queue = WorkQueue(8)
    first = training(visit(LONG, queue=queue))
    second, third = (waiting(visit(LONG, queue=queue)) for _ in range(2))
    first.pause()
    until(lambda: second.snapshot().step > 0)
    assert third.snapshot().has_twin
    # A run that continues does not wait.
    before = first.snapshot().step
    first.start()
    until(lambda: first.snapshot().step > before)
    second.reset(SMALL)
    until(lambda: third.snapshot().step > 0)


def test_another_run_does_not_wait_for_equal_ones(visit):
    queue = WorkQueue(2)
    training(visit(LONG, queue=queue))
    waiting(visit(LONG, queue=queue))
    other = visit(small(seed=1), queue=queue)
    assert finished(other).state == "done"


def test_a_finished_run_needs_no_turn(visit):
    finished(visit())
    training(visit(LONG))
    assert finished(visit()).state == "done"


@pytest.mark.slow
def test_a_run_with_changed_settings_is_not_shared(visit, chunks):
    first = visit()
    paused_after(first, 3)
    first.amend(small(learning_rate=0.2))
    finished(first)
    before = len(chunks)
    for experiment in (SMALL, small(learning_rate=0.2)):
        later = visit(experiment)
        finished(later)
        assert len(chunks) > before
        before = len(chunks)
        assert not later.snapshot().history.changes


@pytest.mark.slow
def test_a_run_of_a_file_is_not_shared(visit, chunks):
    other = visit(small(seed=5), shared=None)
    paused_after(other, 3)
    forged = other.stored()._replace(experiment=SMALL)
    first = visit()
    first.resume(forged)
    finished(first)
    chunks.clear()
    finished(visit())
    assert chunks


@pytest.mark.parametrize(
    "watch", [lambda run: run.set_speed(1.0), lambda run: run.step()], ids=["slow", "step"]
)
def test_a_run_that_is_watched_step_by_step_is_ones_own(visit, watch):
    queue = WorkQueue(8)
    first, second = visit(LONG, queue=queue), visit(LONG, queue=queue)
    watch(first)
    first.step()
    second.start()
    until(lambda: second.snapshot().step > 10)


def test_one_who_waits_may_watch_slowly_instead(visit):
    queue = WorkQueue(8)
    training(visit(LONG, queue=queue))
    second = waiting(visit(LONG, queue=queue))
    second.set_speed(1_000.0)
    until(lambda: second.snapshot().step > 0)


def test_a_run_that_diverged_is_shared_with_its_reason(visit, chunks):
    first = finished(visit(DIVERGING))
    assert first.state == "failed"
    chunks.clear()
    later = finished(visit(DIVERGING))
    assert not chunks
    assert (later.state, later.message, later.step) == ("failed", first.message, first.step)


def test_the_oldest_runs_are_dropped_and_too_large_ones_never_kept():
    shared = SharedRuns(10_000)

    def put(seed, steps):
        history = empty_history().with_losses(np.zeros(steps, np.float32))
        shared.put(RunProgress(small(seed=seed), Autosave(), history=history))
        return [each for each in range(9) if small(seed=each) in shared]

    assert put(0, 1_000) == [0]
    assert put(1, 1_000) == [0, 1]
    assert put(2, 1_000) == [1, 2]
    # A run that is stored again is the newest.
    assert put(1, 1_000) == [1, 2]
    assert put(3, 1_000) == [1, 3]
    # One that is too large to be stored takes no other's place.
    assert put(4, 3_000) == [1, 3]
