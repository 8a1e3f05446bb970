"""Live runs that fail: they say why, keep what was good, and can begin again."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnlab.live.live_run
import attnlab.training.loop
from tests.unit.live_runs import PATIENCE, finished, paused_after
from tests.unit.small_experiments import small
from tests.unit.test_loop import bad_loss_at

BAD_STEP = 7


@pytest.mark.slow
def test_a_run_that_ends_far_above_a_uniform_guess_has_failed(live):
    run = live(small(learning_rate=100.0))
    seen = finished(run)
    assert (seen.state, seen.step) == ("failed", 60)
    assert "`learning_rate`, which is 100" in seen.message
    # The model is there to be looked at, and when its file is opened it has failed as well.
    assert seen.latest.evaluation.nll > 10
    again = live()
    again.resume(run.stored())
    assert again.wait(PATIENCE)
    assert (again.snapshot().state, again.snapshot().message) == ("failed", seen.message)


def bad_weights_after(bad_step):
    """`advance`, but the weights after `bad_step` steps are not finite."""
    steps_of = attnlab.training.loop.advance

    def advance(state, source, training, *, key, steps):
        state, losses = steps_of(state, source, training, key=key, steps=steps)
        if int(state.step) != bad_step:
            return state, losses
        query = state.model.query._replace(bias=state.model.query.bias * jnp.inf)
        return state._replace(model=dataclasses.replace(state.model, query=query)), losses

    return advance


def assert_failed(run, twin, *, bad_step):
    """The run says at which step it failed, and is at the step before, as its twin is."""
    seen, kept = run.snapshot(), run.stored()
    assert seen.state == "failed"
    assert f"not a finite number at step {bad_step:,}" in seen.message
    assert f"the weights of step {bad_step - 1:,} are kept" in seen.message
    rate = run.experiment.training.learning_rate
    assert f"lower `learning_rate`, which is {rate:g}" in seen.message
    paused_after(twin, bad_step - 1)
    good = twin.stored()
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


@pytest.mark.parametrize(
    ("broken", "before"), [(bad_loss_at, BAD_STEP), (bad_weights_after, BAD_STEP - 1)]
)
def test_a_bad_step_is_not_kept_and_only_a_reset_begins_again(live, monkeypatch, broken, before):
    run = live()
    paused_after(run, before)
    with monkeypatch.context() as patch:
        patch.setattr(attnlab.training.loop, "advance", broken(BAD_STEP))
        paused_after(run, 1)
    assert_failed(run, live(), bad_step=BAD_STEP)
    run.step()
    assert finished(run).state == "failed"
    run.reset()
    assert (run.snapshot().state, run.snapshot().message) == ("idle", "")
    assert finished(run).state == "done"


@pytest.mark.parametrize(
    ("module", "part"),
    [
        (attnlab.live.live_run, "prepare"),
        (attnlab.training.loop, "advance"),
        (attnlab.training.loop, "evaluate"),
    ],
)
def test_any_error_in_the_thread_is_shown_and_not_lost(live, monkeypatch, module, part):
    def broken(*_, **__):
        raise RuntimeError("out of luck")

    with monkeypatch.context() as patch:
        patch.setattr(module, part, broken)
        seen = finished(live())
    assert (seen.state, seen.message) == ("failed", "RuntimeError: out of luck")
