"""Live runs that fail: they say why, keep what was good, and can begin again."""

import dataclasses
import itertools
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnlab.live.live_run
import attnlab.live.progress
import attnlab.training.loop
from attnlab.live.live_run import LiveRun
from attnlab.training.loop import schedule
from attnlab.training.steps import Losses
from tests.unit.small_experiments import SMALL, small

PATIENCE = 60.0
BAD_STEP = 7
LONG = small(steps=100_000)


def test_a_run_that_ends_far_above_a_uniform_guess_has_failed():
    run = LiveRun(small(learning_rate=100.0))
    run.start()
    assert run.wait(PATIENCE)
    seen = run.snapshot()
    assert (seen.state, seen.step) == ("failed", 60)
    assert "`learning_rate`, which is 100" in seen.message
    # The model is there to be looked at, and when its file is opened it has failed as well.
    assert seen.latest.evaluation.nll > 10
    again = LiveRun(small())
    again.resume(run.stored())
    assert again.wait(PATIENCE)
    assert (again.snapshot().state, again.snapshot().message) == ("failed", seen.message)


REAL_ADVANCE = attnlab.training.loop.advance


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    for thread in threading.enumerate():
        if thread.name == "attnlab-run":
            thread.join(PATIENCE)
            assert not thread.is_alive()


def bad_loss_at(bad_step):
    """`advance`, but the loss of the weights after `bad_step` steps is not a number."""

    def advance(state, source, training, *, key, steps):
        begin = int(state.step)
        state, losses = REAL_ADVANCE(state, source, training, key=key, steps=steps)
        nll = losses.nll.copy()
        nll[np.arange(begin, begin + steps) == bad_step] = np.nan
        return state, Losses(losses.objective, nll)

    return advance


def bad_weights_after(bad_step):
    """`advance`, but the weights after `bad_step` steps are not finite."""

    def advance(state, source, training, *, key, steps):
        state, losses = REAL_ADVANCE(state, source, training, key=key, steps=steps)
        if int(state.step) != bad_step:
            return state, losses
        query = state.model.query._replace(bias=state.model.query.bias * jnp.inf)
        return state._replace(model=dataclasses.replace(state.model, query=query)), losses

    return advance


def stepped(experiment, steps):
    run = LiveRun(experiment)
    for _ in range(steps):
        run.step()
    assert run.wait(PATIENCE)
    return run


def assert_failed(run, experiment, *, bad_step):
    """The run says at which step it failed, and stands at the step before like any other."""
    seen, kept = run.snapshot(), run.stored()
    assert seen.state == "failed"
    assert f"not a finite number at step {bad_step:,}" in seen.message
    assert f"the weights of step {bad_step - 1:,} are kept" in seen.message
    rate = experiment.training.learning_rate
    assert f"lower `learning_rate`, which is {rate:g}" in seen.message
    good = stepped(experiment, bad_step - 1).stored()
    assert seen.step == int(kept.state.step) == bad_step - 1
    assert seen.latest.step == seen.step
    shown = zip(jax.tree.leaves(seen.latest.model), jax.tree.leaves(kept.state.model), strict=True)
    for one, other in shown:
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(seen.history.losses, good.history.losses)
    leaves = zip(jax.tree.leaves(kept.state), jax.tree.leaves(good.state), strict=True)
    for one, other in leaves:
        assert np.isfinite(one).all()
        np.testing.assert_array_equal(one, other)


def test_a_bad_loss_within_a_chunk_keeps_the_step_before(monkeypatch):
    # Between these two steps nothing is due, and chunks are as long as they can be.
    due = schedule(LONG.training.steps).tests
    begin = next(a for a, b in itertools.pairwise(due) if b - a > 8)
    run = stepped(LONG, begin)
    with monkeypatch.context() as patch:
        patch.setattr(attnlab.live.progress, "_CHUNK_SECONDS", PATIENCE)
        patch.setattr(attnlab.training.loop, "advance", bad_loss_at(begin + 5))
        run.start()
        assert run.wait(PATIENCE)
    assert_failed(run, LONG, bad_step=begin + 5)


def test_a_bad_loss_at_the_start_of_a_chunk_keeps_the_step_before(monkeypatch):
    run = stepped(SMALL, BAD_STEP)
    with monkeypatch.context() as patch:
        patch.setattr(attnlab.training.loop, "advance", bad_loss_at(BAD_STEP))
        run.step()
        assert run.wait(PATIENCE)
    assert_failed(run, SMALL, bad_step=BAD_STEP)


def test_weights_that_are_not_finite_are_not_kept(monkeypatch):
    run = stepped(SMALL, BAD_STEP - 1)
    with monkeypatch.context() as patch:
        patch.setattr(attnlab.training.loop, "advance", bad_weights_after(BAD_STEP))
        run.step()
        assert run.wait(PATIENCE)
    assert_failed(run, SMALL, bad_step=BAD_STEP)


def test_a_failed_run_only_begins_again_by_a_reset(monkeypatch):
    run = LiveRun(SMALL)
    with monkeypatch.context() as patch:
        patch.setattr(attnlab.training.loop, "advance", bad_loss_at(BAD_STEP))
        run.start()
        assert run.wait(PATIENCE)
    run.start()
    run.step()
    assert run.wait(PATIENCE)
    assert run.snapshot().state == "failed"
    run.reset()
    assert run.snapshot().state == "idle"
    assert run.snapshot().message == ""
    run.start()
    assert run.wait(PATIENCE)
    assert run.snapshot().state == "done"


@pytest.mark.parametrize(
    ("module", "part"),
    [
        (attnlab.live.live_run, "prepare"),
        (attnlab.training.loop, "advance"),
        (attnlab.training.loop, "evaluate"),
    ],
)
def test_any_error_in_the_thread_is_shown_and_not_lost(monkeypatch, module, part):
    def broken(*_, **__):
        raise RuntimeError("out of luck")

    run = LiveRun(SMALL)
    with monkeypatch.context() as patch:
        patch.setattr(module, part, broken)
        run.start()
        assert run.wait(PATIENCE)
    seen = run.snapshot()
    assert (seen.state, seen.message) == ("failed", "RuntimeError: out of luck")
