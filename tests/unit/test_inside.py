"""The traces of models as pages take them: of one sequence, and their mean."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.models import MODELS
from attnlab.models.inside import head_name, heads_of, mean_trace, trace_of

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attention", "linear", "ssm"])
def test_the_mean_is_that_of_the_traces_and_the_mask_stays(name):
    model = MODELS[name]().build(vocab=3, length=4, key=jr.key(1))
    # More than are traced together, and no multiple of it.
    sequences = jr.randint(jr.key(2), (11, 4), 0, 3)
    trace = jax.jit(lambda tokens: model(tokens, jnp.arange(4))[1])
    traces = [trace(tokens) for tokens in sequences]
    one, mean = trace_of(model, sequences[3]), mean_trace(model, sequences)
    # One program or another: the last bits of float32 may differ.
    for leaf, expected in zip(jax.tree.leaves(one), jax.tree.leaves(traces[3]), strict=True):
        assert isinstance(leaf, np.ndarray)
        np.testing.assert_allclose(leaf, expected, atol=1e-6)
    for leaf, *expected in zip(*map(jax.tree.leaves, (mean, *traces)), strict=True):
        assert leaf.dtype == expected[0].dtype
        np.testing.assert_allclose(leaf, np.mean(expected, axis=0), atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_no_two_heads_have_one_name(name):
    model = MODELS[name]().build(vocab=5, length=7, key=jr.key(0))
    trace = trace_of(model, np.zeros(7, np.int32))
    names = [head_name(trace.attention[place], head) for place, head in heads_of(trace)]
    assert len(set(names)) == len(names)
    if name == "encoder-decoder":
        assert {each.split()[0] for each in names} == {"encoder", "decoder", "source"}
