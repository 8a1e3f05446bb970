"""Live runs begun again, watched, stored, resumed and stopped at a target: the same run."""

import jax
import numpy as np
import pytest

from attnlab.runs.storage import from_bytes, to_bytes
from attnlab.ui.train.cursor import starting_point
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


@pytest.mark.slow
def test_a_reset_begins_again_with_the_same_data_and_weights(live):
    run = live()
    first = finished(run)
    run.reset()
    assert (run.snapshot().state, run.snapshot().step) == ("idle", 0)
    assert run.snapshot().history.losses.size == 0
    assert_same_history(finished(run).history, first.history)


@pytest.mark.slow
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


# Learning goes on for all of these steps, and every tenth of them is tested.
EASY = small(steps=200, learning_rate=0.05, data="fresh", test_size=2_000)
TARGET = 1.03


@pytest.mark.slow
def test_a_run_pauses_at_the_first_test_below_its_target(live):
    tests = finished(live(EASY)).history.tests
    first = next(step for step, test in tests if test.nll <= TARGET)
    assert 0 < first < EASY.training.steps
    run = live(EASY)
    run.stop_at(TARGET)
    seen = finished(run)
    assert (seen.state, seen.step) == ("paused", first)
    assert f"reached {TARGET:.3f} nats at step {first}" in seen.message


@pytest.mark.slow
def test_it_goes_on_to_the_end_although_the_target_is_asked_for_again(live):
    run = live(EASY)
    run.stop_at(TARGET)
    assert finished(run).state == "paused"
    run.stop_at(TARGET)
    run.start()
    run.stop_at(TARGET)
    assert run.wait(PATIENCE)
    assert run.snapshot().state == "done"


@pytest.mark.slow
def test_it_goes_on_to_the_end_although_the_loss_was_above_the_target_again(live):
    tests = finished(live(EASY)).history.tests
    losses = [test.nll for _, test in tests]
    # First reached there, left at the next test, and reached again later.
    place = next(
        i for i in range(1, len(losses) - 2)
        if min(losses[:i]) > losses[i] < losses[i + 1] and min(losses[i + 2 :]) <= losses[i]
    )  # fmt: skip
    run = live(EASY)
    run.stop_at(losses[place])
    assert finished(run).step == tests[place][0]
    for _ in range(tests[place + 1][0] - tests[place][0]):
        run.step()
    assert run.wait(PATIENCE)
    assert run.snapshot().latest.evaluation.nll > losses[place]
    run.stop_at(losses[place])
    run.start()
    assert run.wait(PATIENCE)
    assert run.snapshot().state == "done"


@pytest.mark.slow
def test_without_a_target_or_with_one_out_of_reach_it_trains_to_the_last_step(live):
    for target in (None, 0.1):
        run = live(EASY)
        run.stop_at(target)
        assert finished(run).state == "done"


def test_it_is_step_0_of_the_run(live):
    run = live(small())
    seen = paused_after(run, 1)
    point = starting_point(small())
    (step, test), (kept, model) = seen.history.tests[0], seen.history.checkpoints[0]
    assert (point.evaluated.step, step, kept) == (0, 0, 0)
    assert point.evaluated.evaluation == test
    assert point.parameters == seen.parameters
    np.testing.assert_array_equal(point.probes, seen.probes)
    leaves = zip(jax.tree.leaves(point.evaluated.model), jax.tree.leaves(model), strict=True)
    for mine, its in leaves:
        np.testing.assert_array_equal(mine, its)
