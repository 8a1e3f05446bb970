"""Live runs: their states, their one thread, and what they show."""

import dataclasses
import threading

import numpy as np
import pytest

import attnlab.live.live_run
from attnlab.runs.snapshot import STATES
from tests.unit.live_runs import LONG, PATIENCE, finished, paused_after, training_threads, until


def test_a_new_run_is_idle_and_empty(live):
    run = live()
    seen = run.snapshot()
    assert (seen.state, seen.step, seen.latest, seen.probes) == ("idle", 0, None, None)
    assert seen.history.losses.size == 0
    assert run.stored() is None
    assert run.wait(0.0)
    assert seen.seconds_left is None


@pytest.mark.slow
def test_a_run_goes_through_its_states_to_the_end(live, held):
    run = live()
    run.start()
    assert run.snapshot().state == "compiling"
    assert not run.wait(0.01)
    held.set()
    assert run.wait(PATIENCE)
    seen = run.snapshot()
    assert (seen.state, seen.step, seen.message) == ("done", 60, "")
    assert seen.history.losses.shape == (60,)
    assert seen.history.tests[0][0] == seen.history.checkpoints[0][0] == 0
    assert seen.history.tests[-1][0] == seen.history.checkpoints[-1][0] == 60
    assert seen.latest.step == 60
    assert seen.steps_per_second > 0
    assert seen.seconds_left == 0
    assert seen.parameters == 6 * (2 * 2 + 3) + 4 * 2
    assert seen.state in STATES


def test_the_starting_weights_are_seen_before_the_training_program_is_there(live, monkeypatch):
    gate, compile_steps = threading.Event(), attnlab.live.live_run.compile_steps

    def held_compile_steps(experiment):
        assert gate.wait(PATIENCE)
        compile_steps(experiment)

    monkeypatch.setattr(attnlab.live.live_run, "compile_steps", held_compile_steps)
    run = live()
    run.start()
    until(lambda: run.snapshot().latest is not None)
    seen = run.snapshot()
    assert (seen.state, seen.step, seen.latest.step) == ("compiling", 0, 0)
    assert [step for step, _ in seen.history.tests] == [0]
    run.pause()
    assert run.snapshot().message == "compiling, then it pauses"
    gate.set()
    assert run.wait(PATIENCE)
    assert (run.snapshot().state, run.snapshot().step) == ("paused", 0)
    assert (finished(run).state, run.snapshot().step) == ("done", 60)


def test_a_program_that_cannot_be_compiled_fails_the_run(live, monkeypatch):
    def broken(experiment):
        raise MemoryError("too large")

    monkeypatch.setattr(attnlab.live.live_run, "compile_steps", broken)
    seen = finished(live())
    assert (seen.state, seen.message) == ("failed", "MemoryError: too large")


def test_a_done_run_stays_done(live):
    run = live()
    before = finished(run)
    run.start()
    run.step()
    run.pause()
    after = run.snapshot()
    assert (after.state, after.step) == ("done", 60)
    assert after.history is before.history
    assert after.latest is before.latest
    until(lambda: not training_threads())


def test_starts_from_many_threads_make_one_thread(live, held):
    run = live()
    callers = [threading.Thread(target=run.start) for _ in range(10)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(training_threads()) == 1


def test_a_pause_while_compiling_comes_up_paused_at_step_0(live, held):
    run = live()
    run.start()
    until(lambda: run.snapshot().message == "generating data (1 of 3)")
    run.pause()
    assert run.snapshot().message == "generating data (1 of 3), then it pauses"
    held.set()
    assert run.wait(PATIENCE)
    seen = run.snapshot()
    assert (seen.state, seen.step) == ("paused", 0)
    assert seen.latest.step == 0
    assert seen.history.losses.size == 0


def test_a_pause_keeps_everything_and_a_start_goes_on(live):
    run = live(LONG)
    run.start()
    until(lambda: run.snapshot().step > 0)
    run.pause()
    assert run.wait(PATIENCE)
    seen = run.snapshot()
    assert seen.state == "paused"
    assert 0 < seen.step == seen.history.losses.size == seen.latest.step < LONG.training.steps
    run.start()
    until(lambda: run.snapshot().step > seen.step)
    later = run.snapshot().history.losses[: seen.step]
    np.testing.assert_array_equal(later, seen.history.losses)


@pytest.mark.parametrize("presses", [1, 5])
def test_every_press_of_step_is_one_step(live, presses):
    run = live()
    assert paused_after(run, presses).step == presses
    again = paused_after(run, presses)
    assert (again.state, again.step) == ("paused", 2 * presses)
    assert again.latest.step == 2 * presses


def test_a_step_while_running_pauses(live):
    run = live(LONG)
    run.start()
    until(lambda: run.snapshot().step > 0)
    run.step()
    assert run.wait(PATIENCE)
    seen = run.snapshot()
    assert seen.state == "paused"
    assert seen.step < LONG.training.steps
    assert paused_after(run, 1).step == seen.step + 1


def test_nothing_in_a_snapshot_can_change(live):
    run = live()
    early = paused_after(run, 2)
    kept = early.history.losses.copy()
    seen = finished(run)
    assert (early.step, early.state) == (2, "paused")
    np.testing.assert_array_equal(early.history.losses, kept)
    with pytest.raises(dataclasses.FrozenInstanceError):
        seen.step = 5
    for array in (seen.history.losses, seen.probes):
        assert not array.flags.writeable
