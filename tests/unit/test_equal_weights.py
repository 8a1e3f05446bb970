"""What becomes of weights that all begin at 1: which of them training keeps equal."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

from attnlab.models import AttentionOptions
from attnlab.positions import Alibi, Learned, NoPosition, Rotary

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
