"""What is said of linear predictors, and of the weights of a linear model."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from attnlab.models import LinearOptions
from attnlab.models.parts import Projection
from tests.unit.process_oracles import CYCLE, WEATHERS

# A weight for the constant, and for rain and cloud on each of ten days, of two outcomes against
# the third; found by search for accuracy alone.
RULE = np.array(
    [
        [2, 1, -1, -5, 0, -15, 8, -5, 2, -5, -3, -12, -2, 6, 11, -3, -12, 11, 0, -5, 3],
        [-1, -8, -5, -2, -3, 8, 17, 13, 6, 8, 0, 1, -5, -3, 2, 9, -6, -8, -2, 0, -2],
    ]
)  # fmt: skip
NOISE, DAYS = 0.04, 10


def test_a_linear_rule_of_dotmod_is_more_accurate_than_the_one_of_least_loss():
    """`dotmod` as published, simulated: the predictor of least loss has an accuracy of 0.744."""
    rng, size = np.random.default_rng(0), 20_000
    days = rng.integers(WEATHERS, size=(size, DAYS))
    weights = np.resize(CYCLE, DAYS)
    for _ in range(200):
        likeliest = (days == 0) @ weights % 3
        other = (likeliest + rng.integers(1, 3, size=size)) % 3
        drawn = np.where(rng.random(size) < NOISE, other, likeliest)
        days = np.concatenate([days[:, 1:], drawn[:, None]], axis=1)
    one_hot = (days[:, :, None] == np.arange(2)).reshape(size, -1)
    logits = np.concatenate([np.ones((size, 1)), one_hot], axis=1) @ RULE.T
    named = np.concatenate([logits, np.zeros((size, 1))], axis=1).argmax(axis=1)
    right = np.where(named == (days == 0) @ weights % 3, 1 - NOISE, NOISE / 2)
    # Its standard error is 0.0026.
    assert right.mean() > 0.744 + 0.02


def test_what_all_tokens_of_a_day_add_can_be_taken_from_the_bias():
    model = LinearOptions().build(vocab=3, length=4, key=jr.key(0))
    weight, bias = model.projection
    added = jnp.array([0.5, -2.0, 1.0])
    moved = Projection(weight.at[3:6].add(added), bias - added)
    other = eqx.tree_at(lambda model: model.projection, model, moved)
    for tokens in ((0, 1, 2, 0), (2, 2, 1, 1)):
        before, after = (each(jnp.array(tokens), jnp.array([3]))[0] for each in (model, other))
        np.testing.assert_allclose(before, after, atol=1e-6)
