"""Random dot products and saturated softmaxes against laws and NumPy."""

import hypothesis
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from attnlab.attention import masked_softmax
from attnlab.lessons.saturation import (
    CASES,
    answer,
    draw_scores,
    histogram,
    patterns,
    saturation,
    variance_and_error,
)

WIDTHS = (1, 2, 4, 8, 16, 32, 64)
# A worked example in common use: sharpening by a factor of eight, to the digits that it prints.
LOGITS = np.array([0.1, -0.2, 0.3, -0.2, 0.5])
SOFTMAX = [0.1925, 0.1426, 0.2351, 0.1426, 0.2872]
SOFTMAX_OF_8X = [0.0326, 0.0030, 0.1615, 0.0030, 0.8000]
VARIANCE, VARIANCE_OF_8X = 0.0950, 6.0800


def drawn(seed):
    return draw_scores(WIDTHS, draws=2_000, queries=60, keys=8, key=jr.key(seed))


@pytest.fixture(scope="module")
def many():
    return [drawn(seed) for seed in range(10)]


@pytest.mark.slow
def test_the_variance_is_the_width_within_its_error(many):
    misses = []
    for scores in many:
        for width, row in zip(WIDTHS, scores.products, strict=True):
            variance, error = variance_and_error(row)
            scaled, scaled_error = variance_and_error(row / np.sqrt(width))
            misses.append((variance - width) / error)
            assert (scaled - 1) / scaled_error == pytest.approx(misses[-1], abs=1e-3)
    misses = np.abs(misses)
    # 70 draws: beyond four errors would happen once in 200 such tests.
    assert misses.max() < 4
    # And the error is no larger than it should be: 68 % lie within one of it.
    assert binomtest(int((misses < 1).sum()), misses.size, 0.683).pvalue > 0.01


def test_rows_obey_the_law_too(many):
    rows = np.concatenate([scores.scores for scores in many], axis=1)
    for width, row in zip(WIDTHS, rows, strict=True):
        # Scores of one query are not independent; queries are.
        squares = (row.astype(np.float64) ** 2).mean(axis=1)
        error = squares.std(ddof=1) / np.sqrt(squares.size)
        assert abs(squares.mean() - width) < 4 * error


def test_no_draw_serves_twice(many):
    flat = np.concatenate([scores.products for scores in many], axis=1)
    between = np.corrcoef(flat)[~np.eye(len(WIDTHS), dtype=bool)]
    assert np.abs(between).max() < 4.5 / np.sqrt(flat.shape[1])
    assert not np.array_equal(many[0].products, many[1].products)
    np.testing.assert_array_equal(drawn(0).products, many[0].products)


@pytest.mark.parametrize("law", ["normal", "product", "uniform"])
def test_the_error_of_a_variance(law):
    rng = np.random.default_rng(0)
    draw = {
        "normal": lambda size: rng.normal(size=size),
        "product": lambda size: rng.normal(size=size) * rng.normal(size=size),
        "uniform": lambda size: rng.uniform(size=size),
    }[law]
    figures = np.array([variance_and_error(draw(2_000)) for _ in range(1_500)])
    # Heavy tails make single errors uncertain; their mean square must be right to a tenth.
    said, true = np.sqrt((figures[:, 1] ** 2).mean()), figures[:, 0].std(ddof=1)
    assert said == pytest.approx(true, rel=0.1)


def test_histogram():
    values = norm.ppf((np.arange(20_000) + 0.5) / 20_000) * 2
    found = histogram(values, variance=4.0, reach=12.0, bins=48)
    width = found.centres[1] - found.centres[0]
    assert found.density.sum() * width == pytest.approx(1)
    np.testing.assert_allclose(found.normal, norm.pdf(found.centres, scale=2), atol=1e-12)
    np.testing.assert_allclose(found.density, found.normal, atol=2e-3)


@jax.jit
def softmax_jacobian(scores):
    everything = jnp.ones((1, scores.size), dtype=bool)
    return jax.jacfwd(lambda row: masked_softmax(row[None], everything)[0])(scores)


@hypothesis.given(st.lists(st.floats(-30, 30), min_size=5, max_size=5))
@hypothesis.settings(max_examples=40)
def test_figures_against_the_jacobian_itself(scores):
    scores = jnp.asarray(scores, jnp.float32)
    jacobian = softmax_jacobian(scores)
    pattern = patterns(np.asarray(scores), np.ones(scores.size, dtype=bool))
    found = saturation(pattern)
    singular = np.linalg.svd(np.asarray(jacobian, np.float64), compute_uv=False)
    # The sum of the singular values; single precision passes a few 1e-7 on to each.
    assert found.jacobian == pytest.approx(singular.sum(), abs=5e-6)
    # The bound on the page, which a uniform pattern reaches.
    assert singular.sum() <= 1 - 1 / scores.size + 5e-6
    even = np.linalg.svd(np.eye(5) / 5 - 1 / 25, compute_uv=False)
    assert even.sum() == pytest.approx(1 - 1 / scores.size)
    exact = np.exp(np.asarray(scores, np.float64) - float(scores.max()))
    exact /= exact.sum()
    np.testing.assert_allclose(pattern, exact, atol=1e-6)
    assert found.largest == pytest.approx(exact.max(), abs=1e-6)
    nats = -sum(p * np.log(p) for p in exact if p > 0)
    assert found.entropy == pytest.approx(nats, abs=2e-5)
    assert found.effective == pytest.approx(np.exp(nats), rel=2e-5)


def test_even_and_single():
    even, single, none = saturation(np.stack([np.full(4, 0.25), np.eye(4)[1], np.zeros(4)])).entropy
    assert (even, single, none) == pytest.approx((np.log(4), 0, 0))
    found = saturation(np.full(4, 0.25))
    assert (found.surviving, found.effective) == pytest.approx((1, 4))
    assert saturation(np.eye(4)[1]).surviving == 0
    assert saturation(np.ones(1)).surviving == 0


def test_keys_that_are_not_admitted():
    unmasked = np.array([True, False, True, False])
    pattern = patterns(np.array([[0.0, 9.0, 0.0, 9.0]]), unmasked)
    np.testing.assert_array_equal(pattern, [[0.5, 0, 0.5, 0]])
    assert saturation(pattern, unmasked).surviving == pytest.approx(1)


def test_sharpening():
    everything = np.ones(5, dtype=bool)
    once, eight = patterns(np.stack([LOGITS, 8 * LOGITS]), everything)
    np.testing.assert_allclose(once, SOFTMAX, atol=5.1e-5)
    np.testing.assert_allclose(eight, SOFTMAX_OF_8X, atol=5.1e-5)
    assert variance_and_error(LOGITS)[0] == pytest.approx(VARIANCE, abs=5.1e-5)
    assert variance_and_error(8 * LOGITS)[0] == pytest.approx(VARIANCE_OF_8X, abs=5.1e-5)


@pytest.mark.slow
def test_scaled_scores_let_gradients_pass_and_others_do_not():
    scores = draw_scores((4, 32, 256), draws=2, queries=120, keys=16, key=jr.key(0)).scores
    everything = np.ones(16, dtype=bool)
    scaled, unscaled = (
        [
            saturation(patterns(row * width**power, everything)).surviving.mean()
            for width, row in zip((4, 32, 256), scores, strict=True)
        ]
        for power in (-0.5, 0.0)
    )
    assert min(scaled) > 0.6
    assert unscaled[0] > 0.6 > unscaled[1] > 0.25 > unscaled[2]


E = float(np.exp(-1.0))
NAN = float("nan")
# exp(0) and exp(-1) over their sum; nothing else in these cases weighs anything.
HIGH, LOW = 1 / (1 + E), E / (1 + E)
EXPECTED = {
    "large scores": ([NAN, NAN, 0], [HIGH, LOW, 0], [HIGH * LOW, -HIGH * LOW, 0]),
    "very negative scores": ([NAN, NAN, NAN], [HIGH, LOW, 0], [HIGH * LOW, -HIGH * LOW, 0]),
    "one score of -inf": ([0, LOW, HIGH], [0, LOW, HIGH], [0, 0, 0]),
    "a row of -inf": ([NAN, NAN, NAN], [0, 0, 0], [0, 0, 0]),
    "every key masked": ([NAN, NAN, NAN], [0, 0, 0], [0, 0, 0]),
    "not a number behind the mask": (
        [HIGH, 0, LOW], [HIGH, 0, LOW], [HIGH * LOW, 0, -HIGH * LOW],
    ),
    # inf - inf is no number, and nor is a share of a sum that is none.
    "a score of +inf": ([NAN, 0, 0], [NAN, NAN, NAN], [NAN, NAN, NAN]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_answers(case):
    found, expected = answer(case), EXPECTED[case.name]
    for values, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(values, right, atol=2e-7)
