"""What weights and biases are before training."""

import itertools

import numpy as np
import pytest

from attnlab.models import AttentionOptions, LinearOptions
from tests.unit.model_settings import build

pytestmark = pytest.mark.usefixtures("quickly_compiled")


def projections(initialisation):
    wide = AttentionOptions(
        d_attn=128, d_model=128, embedding="learned", initialisation=initialisation
    )
    head = build(wide, seed=4)
    linear = build(LinearOptions(initialisation=initialisation), length=64, seed=4)
    return head.query, head.key, linear.projection


def test_ones_are_ones():
    for weight, bias in projections("ones"):
        assert np.all(np.asarray(weight) == 1)
        assert np.all(np.asarray(bias) == 1)


@pytest.mark.parametrize("initialisation", ["published", "scaled"])
def test_random_starts_have_the_spread_they_say(initialisation):
    for weight, bias in projections(initialisation):
        spread = 1 if initialisation == "published" else weight.shape[0] ** -0.5
        # Four standard errors of the mean and of the standard deviation of normal draws.
        assert abs(np.mean(weight)) < 4 * spread / np.sqrt(weight.size)
        assert abs(np.std(weight) / spread - 1) < 4 / np.sqrt(2 * weight.size)
        assert np.all(np.asarray(bias) != 0) == (initialisation == "published")
        assert np.all(np.asarray(bias) == 0) == (initialisation == "scaled")


def test_projections_of_a_head_are_drawn_apart():
    head = build(AttentionOptions(d_attn=3))
    parts = [np.asarray(part.weight) for part in (head.query, head.key, head.value)]
    for one, other in itertools.combinations(parts, 2):
        assert np.all(one != other)
