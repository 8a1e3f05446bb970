"""Live runs begun again, watched, stored and resumed: the same run every time."""

import numpy as np

from attnlab.runs.storage import from_bytes, to_bytes
from tests.unit.live_runs import (
    LONG,
    PATIENCE,
    assert_same_history,
    assert_same_run,
    finished,
    paused_after,
    training_threads,
    until,
)
from tests.unit.small_experiments import SMALL, small


def test_a_reset_begins_again_with_the_same_data_and_weights(live):
    run = live()
    first = finished(run)
    run.reset()
    assert (run.snapshot().state, run.snapshot().step) == ("idle", 0)
    assert run.snapshot().history.losses.size == 0
    assert_same_history(finished(run).history, first.history)


def test_a_reset_while_running_leaves_no_trace(live):
    run = live(LONG)
    run.start()
    until(lambda: run.snapshot().step > 0)
    run.reset(SMALL)
    seen = run.snapshot()
    assert (seen.state, seen.step, seen.experiment) == ("idle", 0, SMALL)
    until(lambda: not training_threads())
    assert run.snapshot().step == 0
    assert_same_history(finished(run).history, finished(live()).history)


def test_a_reset_while_compiling_is_idle(live, held):
    run = live()
    run.start()
    run.reset()
    assert run.snapshot().state == "idle"
    held.set()
    until(lambda: not training_threads())
    assert run.snapshot().state == "idle"
    assert finished(run).state == "done"


def test_another_seed_is_another_run(live):
    run = live()
    first = finished(run)
    run.reset(small(seed=1))
    assert run.experiment.seed == 1
    other = finished(run)
    assert first.history.tests[0] != other.history.tests[0]
    assert np.any(first.probes != other.probes)


def test_watching_and_pausing_do_not_change_a_run(live):
    plain, watched = live(), live()
    finished(plain)
    paused_after(watched, 7)
    watched.start()
    until(lambda: watched.snapshot().step > 7)
    watched.pause()
    assert watched.wait(PATIENCE)
    finished(watched)
    assert_same_run(plain, watched)


def test_a_stored_run_goes_on_to_the_same_end(live):
    whole, begun, resumed = live(), live(), live()
    finished(whole)
    paused_after(begun, 13)
    resumed.resume(from_bytes(to_bytes(begun.stored())))
    assert resumed.wait(PATIENCE)
    assert (resumed.snapshot().state, resumed.snapshot().step) == ("paused", 13)
    assert_same_run(begun, resumed)
    finished(resumed)
    assert_same_run(whole, resumed)


def test_a_stored_run_that_was_done_comes_up_done(live):
    whole, again = live(), live()
    finished(whole)
    again.resume(from_bytes(to_bytes(whole.stored())))
    assert again.wait(PATIENCE)
    assert again.snapshot().state == "done"
    assert_same_run(whole, again)
