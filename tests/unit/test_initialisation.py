"""What weights and biases are before training, and which of them training keeps equal."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

from attnlab.models import AttentionOptions, LinearOptions
from attnlab.positions import Alibi, Learned, NoPosition, Rotary
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


SEQUENCES = jnp.array(np.random.default_rng(0).integers(3, size=(8, 5)))


def after_two_steps(position):
    options = AttentionOptions(d_attn=4, position=position, initialisation="ones")
    model = options.build(vocab=3, length=4, key=jr.key(0))

    @eqx.filter_jit
    @eqx.filter_grad
    def slope(model):
        logits = jax.vmap(lambda row: model(row[:-1], jnp.array([3]))[0][0])(SEQUENCES)
        return optax.softmax_cross_entropy_with_integer_labels(logits, SEQUENCES[:, -1]).mean()

    for _ in range(2):
        model = eqx.apply_updates(model, jax.tree.map(jnp.negative, slope(model)))
    return model


@pytest.mark.slow
@pytest.mark.parametrize("position", [Learned(), NoPosition(), Alibi()], ids=lambda p: p.name)
def test_components_of_queries_and_keys_stay_equal(position):
    model = after_two_steps(position)
    for projection in (model.query, model.key):
        assert np.ptp(projection.weight, axis=1).max() < 1e-6
    assert np.abs(model.key.weight - 1).max() > 1e-4
    # Each component of a value is the logit of another token.
    assert np.ptp(model.value.weight, axis=1).max() > 1e-2


def test_rotary_turns_them_apart():
    model = after_two_steps(Rotary())
    assert np.ptp(model.query.weight, axis=1).max() > 1e-4
