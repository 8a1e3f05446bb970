"""A run as an iterator: what it tells of, and how it goes on from where it was."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnlab.training.loop
from attnlab.runs.history import empty_history
from attnlab.training.changes import Change
from attnlab.training.experiment import prepare
from attnlab.training.loop import (
    NO_TESTS,
    EvaluationEvent,
    EvaluationPlan,
    NotFiniteError,
    Progress,
    evaluation_plan,
    run,
    train,
)
from attnlab.training.steps import Losses, advance
from tests.unit.live_runs import assert_same_history, finished
from tests.unit.small_experiments import SMALL


def followed(events):
    """The last state and the history of a run."""
    state, history = None, empty_history()
    for event in events:
        history = history.after(event)
        if isinstance(event, Progress):
            state = event.state
    return state, history


def arrays_of(state):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(state) if hasattr(leaf, "dtype")]


def assert_same_state(one, other):
    for a, b in zip(arrays_of(one), arrays_of(other), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_a_script_has_the_history_that_the_app_has(live):
    state, history = followed(run(SMALL))
    watched = live()
    assert_same_history(history, finished(watched).history)
    assert_same_state(state, watched.stored().state)


def test_evaluations_come_when_they_are_due_and_chunks_end_there():
    plan = EvaluationPlan((0, 3, 30, 60), (0, 30))
    events = list(run(SMALL, chunk=20, plan=plan))
    found = [event for event in events if isinstance(event, EvaluationEvent)]
    assert [(event.step, event.test, event.checkpoint) for event in found] == [
        (0, True, True),
        (3, True, False),
        (30, True, True),
        (60, True, False),
    ]
    steps = [event.losses.nll.size for event in events if isinstance(event, Progress)]
    assert steps == [3, 20, 7, 20, 10]


def test_a_run_goes_on_from_an_earlier_state():
    whole, history = followed(run(SMALL))
    middle = next(e.state for e in run(SMALL, chunk=7, plan=NO_TESTS) if e.state.step >= 28)
    events = list(run(SMALL, middle))
    # What was due at the state's own step belongs to what came before.
    assert isinstance(events[0], Progress)
    state, rest = followed(events)
    assert_same_state(state, whole)
    np.testing.assert_array_equal(rest.losses, history.losses[28:])
    assert rest.tests == tuple(test for test in history.tests if test[0] > 28)


def test_the_length_of_a_chunk_is_asked_for_and_0_is_a_look_in_passing():
    answers = itertools.chain([5, 0, 1], itertools.repeat(2_000))
    events = list(run(SMALL, chunk=lambda: next(answers), plan=NO_TESTS))
    assert [type(event) for event in events] == [Progress, EvaluationEvent, Progress, Progress]
    assert [e.losses.nll.size for e in events if isinstance(e, Progress)] == [5, 1, 54]
    look = events[1]
    assert (look.step, look.test, look.checkpoint) == (5, False, False)
    history = empty_history()
    assert history.after(look) is history


def test_changes_are_told_and_make_the_schedule_of_the_rest():
    change = Change(50, (("learning_rate", 0.005, 0.01), ("steps", 60, 70)))
    _, history = followed(run(SMALL, changes=[change]))
    assert history.changes == (change,)
    assert history.losses.size == 70
    before = [step for step in evaluation_plan(60).tests if step <= 50]
    after = [step for step in evaluation_plan(70).tests if step > 50]
    assert [step for step, _ in history.tests] == before + after


def bad_loss_at(bad_step):
    """`advance`, but the loss of the weights after `bad_step` steps is not a number."""

    def broken(state, source, training, *, key, steps):
        begin = int(state.step)
        state, losses = advance(state, source, training, key=key, steps=steps)
        nll = np.where(np.arange(begin, begin + steps) == bad_step, np.nan, losses.nll)
        return state, Losses(losses.objective, nll.astype(np.float32))

    return broken


@pytest.mark.parametrize("bad_step", [14, 20, 21])
def test_a_loss_that_is_not_finite_ends_a_run_at_the_step_before(monkeypatch, bad_step):
    good = [event.state for event in train(SMALL, prepare(SMALL), chunk=1)]
    monkeypatch.setattr(attnlab.training.loop, "advance", bad_loss_at(bad_step))
    losses, chunks = [], train(SMALL, prepare(SMALL), chunk=10)
    with pytest.raises(NotFiniteError, match=f"not a finite number at step {bad_step};") as raised:
        losses.extend(loss for progress in chunks for loss in progress.losses.nll)
    kept = raised.value.state
    assert int(kept.step) == bad_step - 1
    assert f"the weights of step {bad_step - 1} are kept" in str(raised.value)
    assert "lower `learning_rate`, which is 0.005" in str(raised.value)
    assert_same_state(kept, good[bad_step - 2])
    assert np.isfinite(losses).all()


def test_the_step_before_a_change_is_found_with_what_was_before_it(monkeypatch):
    change = Change(20, (("learning_rate", 0.005, 0.5),))
    good = [event.state for event in train(SMALL, prepare(SMALL), chunk=1)]
    monkeypatch.setattr(attnlab.training.loop, "advance", bad_loss_at(20))
    with pytest.raises(NotFiniteError, match=r"lower `learning_rate`, which is 0\.5,") as raised:
        list(run(SMALL, chunk=10, changes=[change], plan=NO_TESTS))
    assert_same_state(raised.value.state, good[18])


def test_weights_too_large_for_their_test_are_not_kept():
    setup = prepare(SMALL)
    model = setup.state.model
    large = dataclasses.replace(
        model, value=model.value._replace(bias=jnp.array([3e38, -3e38, -3e38]))
    )
    with pytest.raises(NotFiniteError, match="not a finite number at step 0"):
        next(run(SMALL, setup.state._replace(model=large), setup=setup))
