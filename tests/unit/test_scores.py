"""Every score function against its formula, one component at a time."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.attention import SCORES, GaussianKernel, attend
from attnlab.configuration.options import OptionError

ORACLES = {
    "dot": lambda q, k: sum(a * b for a, b in zip(q, k, strict=True)),
    "scaled": lambda q, k: sum(a * b for a, b in zip(q, k, strict=True)) / math.sqrt(len(q)),
    "additive": lambda q, k: sum(math.tanh(a + b) for a, b in zip(q, k, strict=True)),
    "gaussian": lambda q, k: -sum((a - b) ** 2 for a, b in zip(q, k, strict=True)) / 2,
}


def draws(queries=4, keys=5, width=3):
    rng = np.random.default_rng(queries + 10 * keys + 100 * width)
    return (rng.normal(size=(rows, width)).astype(np.float32) for rows in (queries, keys))


def test_every_score_has_its_oracle():
    assert set(ORACLES) == set(SCORES)


@pytest.mark.parametrize("shape", [(1, 1, 1), (4, 5, 3), (5, 2, 16)])
@pytest.mark.parametrize("name", SCORES)
def test_scores_follow_their_formulas(name, shape):
    query, key = draws(*shape)
    expected = [[ORACLES[name](q, k) for k in key.astype(float)] for q in query.astype(float)]
    found = SCORES[name]().scores(jnp.asarray(query), jnp.asarray(key))
    # Sums of up to 16 float32 products of numbers of size 1 to 3.
    np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, float("nan"), float("inf")])
def test_a_bad_bandwidth_is_refused_by_name(bandwidth):
    with pytest.raises(OptionError, match="`bandwidth` is"):
        GaussianKernel(bandwidth=bandwidth)


def test_keys_of_one_length_make_the_kernel_a_dot_product():
    """-‖q - k‖²/2h² = q·k/h² - (‖q‖² + ‖k‖²)/2h²: the rest is one number for each query."""
    query, key = (jnp.asarray(part) for part in draws())
    key = 2 * key / jnp.linalg.norm(key, axis=1, keepdims=True)
    value, mask = jnp.eye(5), jnp.ones((4, 5), dtype=bool)
    kernel = attend(query, key, value, mask=mask, scale=1.0, score=GaussianKernel(bandwidth=0.5))
    dot = attend(query, key, value, mask=mask, scale=4.0)
    np.testing.assert_allclose(kernel.pattern, dot.pattern, atol=1e-5)


@pytest.mark.parametrize("name", SCORES)
def test_attend_takes_any_score(name):
    query, key = draws()
    value = np.random.default_rng(9).normal(size=(5, 2)).astype(np.float32)
    mask = np.random.default_rng(8).random((4, 5)) < 0.6
    mask[:, 0] = True
    output, pattern = attend(
        *map(jnp.asarray, (query, key, value)), mask=jnp.asarray(mask), scale=0.7,
        score=SCORES[name](),
    )  # fmt: skip
    expected = np.zeros((4, 5))
    for q, k in zip(*np.nonzero(mask), strict=True):
        expected[q, k] = math.exp(0.7 * ORACLES[name](query[q].astype(float), key[k].astype(float)))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(pattern, expected, atol=1e-5)
    np.testing.assert_allclose(output, expected @ value, atol=1e-5)
