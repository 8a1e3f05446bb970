"""Attention in chunks against a float64 loop and against attention in one piece."""

import dataclasses
from functools import partial

import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st

from attnlab.attention import MASKS, attend, chunked_attend
from tests.unit.model_settings import SMALL_TRANSFORMER, build
from tests.unit.test_attention import draws, loop_attention


def blind(queries, keys):
    """Every third query sees nothing, and the others no key of the first two."""
    return (queries[:, None] % 3 > 0) & (keys[None, :] > 1)


RULES = {**MASKS, "blind": blind}


def whole_mask(name, queries, keys):
    return RULES[name](jnp.arange(queries), jnp.arange(keys))


@pytest.mark.slow
@hypothesis.given(
    queries=st.integers(1, 20),
    keys=st.integers(1, 20),
    d_attn=st.integers(1, 4),
    d_value=st.integers(1, 4),
    name=st.sampled_from(list(RULES)),
    scale=st.sampled_from([0.0, 0.5, -2.0, 10.0]),
)
# Every shape compiles programs of its own.
@hypothesis.settings(max_examples=15, deadline=None)
def test_a_loop_in_float64_agrees(queries, keys, d_attn, d_value, name, scale):
    query, key, value = draws(queries + 31 * keys, queries, keys, d_attn, d_value)
    mask = np.asarray(whole_mask(name, queries, keys))
    # Compiled, since otherwise every operation is, for every shape.
    found = jax.jit(partial(chunked_attend, mask=RULES[name], scale=scale))(query, key, value)
    expected, _ = loop_attention(query, key, value, mask, scale, np.zeros(mask.shape))
    # Scores reach about 50, whose float32 rounding is 4e-6; the exponential passes it on.
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert np.all(np.asarray(found)[~mask.any(axis=1)] == 0)


@pytest.mark.parametrize(
    ("name", "queries", "keys"),
    # Every mask where queries and keys differ in number, and the other sizes.
    [*((name, 10, 7) for name in RULES), ("none", 1, 1), ("causal", 9, 9), ("blind", 5, 17)],
)
def test_outputs_and_gradients_are_those_of_attention_in_one_piece(name, queries, keys):
    parts = draws(queries + keys, queries, keys, 3, 2)
    mask = whole_mask(name, queries, keys)

    def in_chunks(query, key, value):
        output = chunked_attend(query, key, value, mask=RULES[name], scale=0.7)
        return (output**2).sum() + output.sum(), output

    def whole(query, key, value):
        output = attend(query, key, value, mask=mask, scale=0.7).output
        return (output**2).sum() + output.sum(), output

    def gradients(function):
        return jax.jit(jax.grad(function, argnums=(0, 1, 2), has_aux=True))(*parts)

    # Sums of numbers of size 1, in another order.
    for one, other in zip(*map(jax.tree.leaves, map(gradients, (in_chunks, whole))), strict=True):
        np.testing.assert_allclose(one, other, atol=5e-6)
        assert np.isfinite(one).all()


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e4, 1e14])
def test_huge_scores_choose_one_key_and_stay_finite(size):
    query, key, value = draws(5, 6, 11)

    @jax.jit
    def run(query):
        return chunked_attend(query, key, value, mask=RULES["blind"], scale=size)

    output = run(query)
    gradient = jax.jit(jax.grad(lambda query: run(query).sum()))(query)
    assert np.isfinite(output).all()
    assert np.isfinite(gradient).all()
    scores = np.asarray(query, dtype=np.float64) @ np.asarray(key, dtype=np.float64).T
    chosen = np.asarray(value)[2 + scores[:, 2:].argmax(axis=1)]
    seeing = np.arange(6) % 3 > 0
    # The compiler may round a score differently in the maximum and in the exponent.
    np.testing.assert_allclose(output[seeing], chosen[seeing], rtol=1e-6)


@pytest.mark.slow
def test_memory_grows_as_the_length_and_not_as_its_square():
    def scratch(length, *, chunked):
        def total(query, key, value):
            if chunked:
                return chunked_attend(query, key, value, mask=MASKS["causal"], scale=1.0).sum()
            mask = MASKS["causal"](jnp.arange(length), jnp.arange(length))
            return attend(query, key, value, mask=mask, scale=1.0).output.sum()

        parts = [jax.ShapeDtypeStruct((length, 4), jnp.float32)] * 3
        compiled = jax.jit(total).lower(*parts).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    # Four times the length: the scores are 16 times as many, and the rows 4 times.
    assert scratch(1024, chunked=False) > 10 * scratch(256, chunked=False)
    assert scratch(1024, chunked=True) < 6 * scratch(256, chunked=True)
    assert scratch(1024, chunked=True) < scratch(1024, chunked=False) / 20


@pytest.mark.slow
def test_a_transformer_takes_less_memory_where_no_pattern_is_asked_for():
    """Scratch of the compiled forward pass at a length at which all scores are megabytes."""
    length, scratch = 512, {}
    for attention in ("plain", "chunked"):
        options = dataclasses.replace(SMALL_TRANSFORMER, attention=attention)
        model = build(options, length=length)
        everywhere = jnp.arange(length)
        compiled = jax.jit(lambda tokens, of=model, all_of=everywhere: of(tokens, all_of)[0]).lower(
            jnp.zeros(length, jnp.int32)
        ).compile()  # fmt: skip
        scratch[attention] = compiled.memory_analysis().temp_size_in_bytes
    assert scratch["chunked"] < scratch["plain"] / 2
