"""What is shown before Start is what the run begins with."""

import dataclasses

import jax
import numpy as np
import pytest

from attnlab.models import GRUOptions, LSTMOptions, RNNOptions
from attnlab.training.steps import Training
from attnlab.ui.train.cursor import starting_point, without_course
from tests.unit.live_runs import paused_after
from tests.unit.small_experiments import small


def test_it_is_step_0_of_the_run(live):
    run = live(small())
    seen = paused_after(run, 1)
    point = starting_point(small())
    (step, test), (kept, model) = seen.history.tests[0], seen.history.checkpoints[0]
    assert (point.look.step, step, kept) == (0, 0, 0)
    assert point.look.evaluation == test
    assert point.parameters == seen.parameters
    np.testing.assert_array_equal(point.probes, seen.probes)
    leaves = zip(jax.tree.leaves(point.look.model), jax.tree.leaves(model), strict=True)
    for mine, its in leaves:
        np.testing.assert_array_equal(mine, its)


def test_families_of_equal_settings_have_each_their_own():
    """Equal options of an RNN, a GRU and an LSTM have one hash, but 1, 3 and 4 gates."""
    counts = [
        starting_point(dataclasses.replace(small(), model=family())).parameters
        for family in (RNNOptions, GRUOptions, LSTMOptions)
    ]
    assert counts == sorted(set(counts))


@pytest.mark.parametrize(
    "changed", [{"learning_rate": 0.1}, {"steps": 9}, {"batch": 7}, {"schedule": "warm-up-cosine"}]
)
def test_how_it_goes_on_does_not_matter(changed):
    other = dataclasses.replace(small(), training=dataclasses.replace(small().training, **changed))
    assert without_course(other) == without_course(small())
    assert isinstance(without_course(other).training, Training)
