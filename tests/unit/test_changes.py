"""Settings that a run goes on with part of the way."""

import dataclasses
import itertools

import hypothesis
import hypothesis.strategies as st
import jax
import numpy as np
import pytest

from attnlab.training.changes import Change, after_change, before_changes, change_between
from attnlab.training.experiment import prepare
from attnlab.training.loop import train
from attnlab.training.steps import Training
from tests.unit.small_experiments import SMALL, small

settings = st.builds(
    Training,
    learning_rate=st.floats(1e-4, 1.0),
    batch=st.integers(1, 500),
    steps=st.integers(1, 5_000),
)


@hypothesis.given(chain=st.lists(settings, min_size=1, max_size=4))
def test_changes_lead_there_and_back(chain):
    changes = [
        change_between(before, after, step=number)
        for number, (before, after) in enumerate(itertools.pairwise(chain))
    ]
    assert before_changes(chain[-1], changes) == chain[0]
    training = chain[0]
    for change, wanted in zip(changes, chain[1:], strict=True):
        training = after_change(training, change)
        assert training == wanted


def test_nothing_changed_is_a_change_of_nothing():
    assert change_between(Training(), Training(), step=3) == Change(3, ())


def test_what_needs_another_model_or_other_data_is_refused():
    with pytest.raises(ValueError, match="`learning_rate`, `batch`, `steps`"):
        change_between(Training(), Training(train_size=20), step=3)
    with pytest.raises(ValueError, match="`learning_rate`, `batch`, `steps`"):
        after_change(Training(), Change(3, (("train_size", 5_000, 20),)))


def test_a_change_from_other_settings_is_refused():
    with pytest.raises(ValueError, match="`batch` is 100 there, not 50"):
        after_change(Training(batch=100), Change(3, (("batch", 50, 10),)))


def test_a_change_of_an_option_twice_is_refused():
    twice = Change(3, (("batch", 100, 50), ("batch", 100, 10)))
    for follow in (after_change, lambda training, change: before_changes(training, [change])):
        with pytest.raises(ValueError, match=r"options twice|`batch` is 100 there"):
            follow(Training(batch=100), twice)


@pytest.mark.parametrize("value", [True, 1.0, "1", 10**400])
def test_a_change_from_what_the_option_cannot_be_is_refused(value, as_users_run):
    with pytest.raises(ValueError, match=r"`batch` is .*: (not a whole number|more than the cap)"):
        after_change(Training(batch=1), Change(3, (("batch", value, 10),)))


@pytest.mark.slow
def test_training_with_changes_is_training_in_parts():
    changes = (
        Change(3, (("learning_rate", SMALL.training.learning_rate, 0.05),)),
        Change(5, (("batch", 20, 30), ("steps", 60, 8))),
    )
    setup = prepare(SMALL)
    *_, last = train(SMALL, setup, chunk=2, changes=changes)

    state, source = setup.state, setup.source
    for steps, training in (
        (3, SMALL.training),
        (5, small(learning_rate=0.05).training),
        (8, small(learning_rate=0.05, batch=30).training),
    ):
        part = dataclasses.replace(SMALL, training=dataclasses.replace(training, steps=steps))
        prepared = setup._replace(state=state, source=source.with_batch(training.batch))
        *_, progress = train(part, prepared)
        state = progress.state
    for ours, theirs in zip(jax.tree.leaves(last.state), jax.tree.leaves(state), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert int(last.state.step) == 8
