"""`attend` against the library's attention and against a float64 loop."""

import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st

from attnlab.attention import MASKS, SCALES, attend, dot_products, scale_factor, weighted_sums

QUERIES, KEYS, D_ATTN, D_VALUE = 4, 5, 3, 2


def loop_attention(query, key, value, mask, scale, bias):
    """Softmax attention in float64, one query and one key at a time."""
    pattern = np.zeros((len(query), len(key)))
    for q in range(len(query)):
        unmasked = [k for k in range(len(key)) if mask[q, k]]
        scores = {
            k: scale * sum(float(a) * float(b) for a, b in zip(query[q], key[k], strict=True))
            + bias[q, k]
            for k in unmasked
        }
        weights = {k: np.exp(score - max(scores.values())) for k, score in scores.items()}
        for k in unmasked:
            pattern[q, k] = weights[k] / sum(weights.values())
    return pattern @ np.asarray(value, dtype=np.float64), pattern


def draws(seed, queries=QUERIES, keys=KEYS, d_attn=D_ATTN, d_value=D_VALUE):
    rng = np.random.default_rng(seed)
    shapes = (queries, d_attn), (keys, d_attn), (keys, d_value)
    return tuple(jnp.asarray(rng.normal(size=shape), dtype=jnp.float32) for shape in shapes)


ALL = jnp.ones((QUERIES, KEYS), dtype=bool)
# Few shapes, so that few programs are compiled.
SHAPES = ((1, 1, 1, 1), (2, 3, 1, 4), (4, 5, 3, 2))


@pytest.mark.slow
@hypothesis.given(data=st.data())
@hypothesis.settings(max_examples=60)
def test_a_loop_in_float64_agrees(data):
    queries, keys, d_attn, d_value = data.draw(st.sampled_from(SHAPES))
    query, key, value = draws(data.draw(st.integers(0, 99)), queries, keys, d_attn, d_value)
    unmasked = st.lists(st.booleans(), min_size=keys, max_size=keys)
    mask = np.array(data.draw(st.lists(unmasked, min_size=queries, max_size=queries)))
    scale = data.draw(st.sampled_from([0.0, 0.25, 1.0, -2.0, 10.0]))
    bias = np.random.default_rng(keys).normal(size=(queries, keys)).astype(np.float32)
    output, pattern = attend(
        query, key, value, mask=jnp.asarray(mask), scale=scale, bias=jnp.asarray(bias)
    )
    expected_output, expected = loop_attention(query, key, value, mask, scale, bias)
    # Scores reach about 50, whose float32 rounding is 4e-6; the exponential passes it on.
    np.testing.assert_allclose(pattern, expected, atol=3e-5)
    np.testing.assert_allclose(output, expected_output, atol=1e-4)
    sums = np.asarray(pattern).sum(axis=1)
    np.testing.assert_allclose(sums, mask.any(axis=1), atol=1e-6)
    assert np.all(np.asarray(pattern)[~mask] == 0)
    assert np.all(np.asarray(output)[~mask.any(axis=1)] == 0)


@jax.jit
def ours_and_the_library_s(query, key, value, mask, scale):
    one_head = (part[None, :, None, :] for part in (query, key, value))
    library = jax.nn.dot_product_attention(*one_head, mask=mask[None, None], scale=scale)
    return attend(query, key, value, mask=mask, scale=scale), library[0, :, 0, :]


@pytest.mark.slow
@hypothesis.given(data=st.data())
@hypothesis.settings(max_examples=60)
def test_the_library_and_a_loop_agree_on_any_shape_mask_scale_and_dtype(data):
    # On a CPU the compiled library takes neither float16 nor a bfloat16 of smaller shapes.
    queries, keys, width = data.draw(st.sampled_from(((2, 6, 3), (7, 5, 16), (12, 9, 32))))
    dtype = data.draw(st.sampled_from([jnp.float32, jnp.bfloat16]))
    scale = data.draw(st.floats(-2, 2, width=16))
    seed = data.draw(st.integers(0, 2**20))
    drawn = draws(seed, queries, keys, width, width)
    parts = tuple(part.astype(dtype) for part in drawn)
    mask = np.random.default_rng(seed).random((queries, keys)) < 0.6
    # The library gives a query without keys the mean of all values; ours is tested above.
    mask[~mask.any(axis=1), 0] = True
    (output, pattern), library = ours_and_the_library_s(*parts, mask, jnp.asarray(scale, dtype))
    assert output.dtype == pattern.dtype == dtype
    numbers = (np.asarray(part.astype(jnp.float32), dtype=np.float64) for part in parts)
    expected, shares = loop_attention(*numbers, mask, scale, np.zeros((queries, keys)))
    # Scores reach 30; their rounding error, relative to the dtype's, is passed on by exp.
    scores = np.abs(scale * np.asarray(drawn[0], float) @ np.asarray(drawn[1], float).T).max()
    tolerance = 4 * (1 + scores) * float(jnp.finfo(dtype).eps)
    np.testing.assert_allclose(np.asarray(pattern, float), shares, atol=tolerance)
    largest = max(1.0, float(np.abs(drawn[2]).max()))
    for one, other in ((output, expected), (library, expected), (output, library)):
        np.testing.assert_allclose(
            np.asarray(one, float), np.asarray(other, float), atol=2 * tolerance * largest
        )


@pytest.mark.parametrize("product", [dot_products, weighted_sums])
def test_products_have_the_gradients_of_products_in_both_directions(product):
    query, key, value = draws(7)
    left, right = (query, key) if product is dot_products else (query @ key.T, value)
    turned = (lambda matrix: matrix.T) if product is dot_products else (lambda matrix: matrix)
    made, pull = jax.vjp(product, left, right)
    np.testing.assert_allclose(made, left @ turned(right), atol=1e-6)
    given = jnp.asarray(np.random.default_rng(8).normal(size=made.shape), jnp.float32)
    to_left, to_right = pull(given)
    np.testing.assert_allclose(to_left, given @ turned(right).T, atol=1e-5)
    np.testing.assert_allclose(to_right, turned(left.T @ given), atol=1e-5)
    # Forwards, the change along (a, b) meets `given` as (a, b) meets the gradients.
    along = jnp.cos(left), jnp.sin(right)
    _, change = jax.jvp(product, (left, right), along)
    expected = (along[0] * to_left).sum() + (along[1] * to_right).sum()
    np.testing.assert_allclose((change * given).sum(), expected, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e4, 1e14])
@pytest.mark.parametrize("d_attn", [1, 3])
@pytest.mark.parametrize("compiled", [True, False])
def test_huge_scores_choose_one_key_and_stay_finite(size, d_attn, compiled):
    query, key, value = draws(5, d_attn=d_attn)
    mask = ALL.at[0].set(False).at[1, 1:].set(False)

    def run(query):
        return attend(query, key, value, mask=mask, scale=size)

    output, pattern = (jax.jit(run) if compiled else run)(query)
    gradient = jax.grad(lambda query: run(query).output.sum())(query)
    assert np.isfinite(output).all()
    assert np.isfinite(gradient).all()
    scores = np.asarray(query, dtype=np.float64) @ np.asarray(key, dtype=np.float64).T
    np.testing.assert_array_equal(np.argmax(pattern[2:], axis=1), scores[2:].argmax(axis=1))
    np.testing.assert_allclose(pattern.sum(axis=1), [0, 1, 1, 1], atol=1e-6)


def test_masked_keys_get_gradients_of_exactly_zero():
    query, key, value = draws(6)
    mask = ALL.at[:, 2].set(False).at[:, 4].set(False)

    def total(key, value):
        output, pattern = attend(query, key, value, mask=mask, scale=1.0)
        return (output**2).sum() + (pattern**2).sum()

    for gradient in jax.grad(total, argnums=(0, 1))(key, value):
        masked = np.isin(np.arange(KEYS), [2, 4])
        assert np.all(np.asarray(gradient)[masked] == 0)
        assert np.all(np.abs(np.asarray(gradient)[~masked]).max(axis=1) > 1e-6)


@pytest.mark.parametrize("by", ["mask", "bias"])
def test_a_query_that_sees_nothing_has_zeros_and_finite_zero_gradients(by):
    query, key, value = draws(7)
    mask, bias = ALL, jnp.zeros((QUERIES, KEYS))
    if by == "mask":
        mask = mask.at[1].set(False)
    else:
        bias = bias.at[1].set(-jnp.inf)

    def total(query):
        output, pattern = attend(query, key, value, mask=mask, scale=1.0, bias=bias)
        return (output**2).sum(), pattern

    gradient, pattern = jax.grad(total, has_aux=True)(query)
    assert np.all(np.asarray(pattern)[1] == 0)
    assert np.isfinite(gradient).all()
    assert np.all(np.asarray(gradient)[1] == 0)
    assert np.all(np.asarray(gradient)[0] != 0)


def test_gradients_agree_with_the_library_softmax():
    query, key, value = draws(8)
    mask = jnp.asarray(np.random.default_rng(9).random((QUERIES, KEYS)) < 0.7).at[:, 0].set(True)

    def ours(*parts):
        return (attend(*parts, mask=mask, scale=0.5).output ** 2).sum()

    def reference(query, key, value):
        scores = jnp.where(mask, 0.5 * jnp.einsum("qd,kd->qk", query, key), -1e30)
        return ((jax.nn.softmax(scores, axis=-1) @ value) ** 2).sum()

    found = jax.grad(ours, argnums=(0, 1, 2))(query, key, value)
    expected = jax.grad(reference, argnums=(0, 1, 2))(query, key, value)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-6)


@pytest.mark.parametrize("name", MASKS)
def test_masks_admit_what_their_names_say(name):
    rule = {
        "causal": lambda q, k: k <= q,
        "none": lambda q, k: True,
        "published": lambda q, k: k >= q,
    }[name]
    queries = [3, 0, 2]
    mask = MASKS[name](jnp.array(queries), jnp.arange(5))
    expected = [[rule(q, k) for k in range(5)] for q in queries]
    np.testing.assert_array_equal(mask, expected)


@pytest.mark.parametrize("name", SCALES)
def test_scales_are_the_factors_that_their_names_say(name):
    expected = {"1/sqrt(d)": 0.25, "none": 1.0, "temperature": 0.125}[name]
    assert scale_factor(name, d_attn=16, temperature=8.0) == pytest.approx(expected, rel=1e-12)
