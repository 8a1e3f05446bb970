"""That every model can learn: its gradients, and what it learns by heart."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from attnlab.configuration.options import options_of
from attnlab.models import MODELS
from tests.unit.model_settings import LENGTH, TOKENS, VOCAB, build

pytestmark = pytest.mark.usefixtures("quickly_compiled")

# The largest values that each family may have beside the smallest, on random data.
CORNERS = {
    f"{kind.name} {end}": kind(
        **{
            name: getattr(spec, end)
            for name, spec in options_of(kind).items()
            if spec.low is not None and name not in ("temperature", "layers")
        }
    )
    for kind in MODELS.values()
    for end in ("low", "high")
}


@pytest.mark.slow
@pytest.mark.parametrize("corner", CORNERS)
def test_gradients_are_finite_at_the_corners_of_the_options(corner):
    model = build(CORNERS[corner])

    def loss(parameters, rest, tokens):
        logits, _ = eqx.combine(parameters, rest)(tokens, jnp.array([LENGTH - 1]))
        return -jax.nn.log_softmax(logits)[0, 0]

    gradients = jax.jit(jax.grad(loss), static_argnums=1)(
        *eqx.partition(model, eqx.is_array), jnp.array(TOKENS)
    )
    leaves = jax.tree.leaves(gradients)
    assert all(np.isfinite(leaf).all() for leaf in leaves)
    assert any((np.asarray(leaf) != 0).any() for leaf in leaves)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_every_family_learns_eight_sequences_by_heart(name):
    """Sequences without a rule, distinguished only by their tokens; the test of overfitting."""
    rng = np.random.default_rng(6)
    sequences = rng.permutation(list(itertools.product(range(VOCAB), repeat=LENGTH)))[:8]
    final = jnp.array(rng.integers(VOCAB, size=8))
    model = build(MODELS[name](), seed=1)
    parameters, rest = eqx.partition(model, eqx.is_array)
    optimiser = optax.adam(0.03)

    def loss(parameters):
        last = jnp.array([LENGTH - 1])
        logits = jax.vmap(lambda tokens: eqx.combine(parameters, rest)(tokens, last)[0][0])(
            jnp.array(sequences)
        )
        return optax.softmax_cross_entropy_with_integer_labels(logits, final).mean()

    def step(carried, _):
        parameters, state = carried
        value, gradient = jax.value_and_grad(loss)(parameters)
        updates, state = optimiser.update(gradient, state)
        return (optax.apply_updates(parameters, updates), state), value

    start = (parameters, optimiser.init(parameters))
    _, losses = jax.jit(lambda carried: jax.lax.scan(step, carried, length=300))(start)
    # One head, and a state without a matrix on it, have less to learn by heart with.
    assert losses[-1] < 0.05
