"""A paused run that goes on with another learning rate, batch or number of steps."""

import dataclasses

import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.models import AttentionOptions
from attnlab.runs.history import MOST_CHANGES
from attnlab.runs.storage import from_bytes, to_bytes
from attnlab.training.changes import Change
from tests.unit.live_runs import PATIENCE, assert_same_run, finished, paused_after, weights_of
from tests.unit.small_experiments import small


@pytest.mark.slow
def test_the_model_is_kept_and_the_change_told(live):
    run = live()
    paused_after(run, 5)
    before = weights_of(run)
    run.amend(small(learning_rate=0.5, batch=30, steps=80))
    seen = run.snapshot()
    assert (seen.state, seen.step, seen.experiment.training.steps) == ("paused", 5, 80)
    (change,) = seen.history.changes
    assert change.step == 5
    assert str(change) == "learning rate 0.005 → 0.5, batch 20 → 30, steps 60 → 80"
    for a, b in zip(before, weights_of(run), strict=True):
        np.testing.assert_array_equal(a, b)
    assert finished(run).step == 80


@pytest.mark.slow
def test_the_new_rate_is_used_from_the_next_step(live):
    slow, fast = live(), live()
    for run in (slow, fast):
        paused_after(run, 1)
    fast.amend(small(learning_rate=0.05))
    before = np.asarray(slow.stored().state.model.query.weight)
    for run in (slow, fast):
        run.step()
        assert run.wait(PATIENCE)
    moved = [
        np.abs(np.asarray(run.stored().state.model.query.weight) - before) for run in (slow, fast)
    ]
    # Adam's step is the rate times a direction that does not depend on it.
    np.testing.assert_allclose(moved[1], 10 * moved[0], rtol=1e-3, atol=1e-6)


def test_a_done_run_goes_on(live):
    run = live()
    finished(run)
    run.amend(small(steps=70))
    assert run.snapshot().state == "paused"
    assert finished(run).step == 70
    assert run.snapshot().history.losses.shape == (70,)


def test_fewer_steps_than_were_made_are_refused(live):
    run = live()
    paused_after(run, 5)
    with pytest.raises(OptionError, match=r"`steps` is 3: less than the 5 steps already made"):
        run.amend(small(steps=3))
    assert run.snapshot().history.changes == ()


def test_more_changes_than_a_file_holds_are_refused_and_change_nothing(live):
    run = live()
    paused_after(run, 5)
    for number in range(MOST_CHANGES):
        run.amend(small(steps=70 + number % 2))
    before = run.experiment
    with pytest.raises(ValueError, match=r"at most 100 times\. Reset to change them again"):
        run.amend(small(steps=90, batch=7))
    assert run.experiment == before
    stored = from_bytes(to_bytes(run.stored()))
    assert len(stored.history.changes) == MOST_CHANGES
    assert finished(run).step == 71


def test_as_many_steps_as_were_made_end_the_run(live):
    run = live()
    paused_after(run, 5)
    run.amend(small(steps=5))
    assert run.snapshot().state == "done"


@pytest.mark.parametrize(
    "other",
    [
        small(seed=1),
        small(data="fresh"),
        small(train_size=300),
        dataclasses.replace(small(), model=AttentionOptions(d_attn=3, d_model=2)),
    ],
)
def test_everything_else_asks_for_a_reset(live, other):
    run = live()
    paused_after(run, 2)
    with pytest.raises(ValueError, match="Reset to change other settings"):
        run.amend(other)
    assert run.experiment == small()


def test_a_run_that_is_not_at_rest_is_left_alone(live):
    run = live()
    run.amend(small(steps=70))
    assert run.experiment == small()


def test_changes_are_in_the_run_file(live):
    run = live()
    paused_after(run, 5)
    run.amend(small(learning_rate=0.01))
    stored = from_bytes(to_bytes(run.stored()))
    assert stored.history.changes == (Change(5, (("learning_rate", 0.005, 0.01),)),)
    other = live()
    other.resume(stored)
    assert other.wait(PATIENCE)
    finished(run)
    finished(other)
    assert_same_run(run, other)
