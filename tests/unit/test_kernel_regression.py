"""Kernel regression by attention, against loops, formulas and each other."""

import hypothesis
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import strategies as st

from attnlab.lessons.kernel_regression import (
    agreement_with_formula,
    attention_fit,
    dot_product,
    error_against_truth,
    isotropic,
    kernel_formula,
    learn_metric,
    leave_one_out,
    left_out_error,
    metric_loss,
)
from attnlab.lessons.regression_data import CURVES, PLANES, draw_sample

POINTS, QUERIES = 7, 5


def draws(seed, features=2):
    rng = np.random.default_rng(seed)
    return (
        rng.uniform(-2, 2, (QUERIES, features)),
        rng.uniform(-2, 2, (POINTS, features)),
        rng.normal(size=POINTS),
    )


def loop_fit(queries, keys, values, bandwidth):
    """Nadaraya–Watson one pair at a time, in logarithms so that nothing vanishes."""
    fit, pattern = [], []
    for query in queries:
        logs = [-sum((query - key) ** 2) / (2 * bandwidth**2) for key in keys]
        weights = [np.exp(log - max(logs)) for log in logs]
        pattern.append([weight / sum(weights) for weight in weights])
        fit.append(sum(p * y for p, y in zip(pattern[-1], values, strict=True)))
    return np.array(fit), np.array(pattern)


@hypothesis.given(st.integers(0, 999), st.floats(0.05, 20))
@hypothesis.settings(max_examples=40)
def test_attention_is_the_regression(seed, bandwidth):
    queries, keys, values = draws(seed)
    fit, pattern = loop_fit(queries, keys, values, bandwidth)
    found = attention_fit(queries, keys, values, bandwidth)
    assert found.pattern.dtype == np.float64
    # Scores reach 6,000, whose rounding in float64 is about 1e-12.
    np.testing.assert_allclose(found.pattern, pattern, atol=5e-12)
    np.testing.assert_allclose(found.output[:, 0], fit, atol=5e-12)
    single = attention_fit(*(part.astype(np.float32) for part in (queries, keys, values)), 1.0)
    assert single.pattern.dtype == np.float32


def test_double_precision_stays_inside():
    attention_fit(*draws(0), 1.0)
    assert jnp.ones(1).dtype == jnp.float32


@hypothesis.given(st.integers(0, 999), st.floats(0.3, 20))
@hypothesis.settings(max_examples=20)
def test_the_formula_agrees_to_machine_precision(seed, bandwidth):
    queries, keys, values = draws(seed)
    fit, pattern = loop_fit(queries, keys, values, bandwidth)
    formula = kernel_formula(queries, keys, values, bandwidth)
    np.testing.assert_allclose(formula.pattern, pattern, atol=1e-13)
    np.testing.assert_allclose(formula.output[:, 0], fit, atol=1e-13)
    found = agreement_with_formula(queries, keys, values, bandwidth)
    assert found.undefined == 0
    assert found.float64 < 1e-13
    # Scores reach 180 here, whose rounding in float32 is 8e-6.
    assert found.float32 < 3e-5


def test_far_from_all_data_the_formula_breaks_and_attention_does_not():
    keys, values = np.array([[0.0], [1.0]]), np.array([2.0, 3.0])
    queries = np.array([[0.4], [80.0]])
    assert np.isnan(kernel_formula(queries, keys, values, 0.5).output[1, 0])
    found = agreement_with_formula(queries, keys, values, 0.5)
    assert found.undefined == 1
    assert found.float64 < 1e-13
    assert attention_fit(queries, keys, values, 0.5).output[1, 0] == pytest.approx(3.0)


@hypothesis.given(st.integers(0, 999), st.floats(0.1, 10), st.floats(0.2, 3))
@hypothesis.settings(max_examples=20)
def test_keys_of_one_norm(seed, bandwidth, norm):
    queries, keys, _ = draws(seed, features=3)
    keys *= norm / np.linalg.norm(keys, axis=1, keepdims=True)
    found = dot_product(queries, keys, bandwidth)
    # Scores reach 2,400, whose rounding in float64 is 5e-13.
    assert found.pattern_difference < 1e-11
    assert found.constant_error < 1e-10
    constant = ((queries**2).sum(axis=1) + norm**2) / (2 * bandwidth**2)
    np.testing.assert_allclose((found.dot - found.gaussian)[:, 0], constant, rtol=1e-9)
    _, pattern = loop_fit(queries, keys, np.zeros(POINTS), bandwidth)
    np.testing.assert_allclose(found.gaussian_pattern, pattern, atol=1e-11)


@pytest.mark.parametrize("features", [1, 2])
def test_leave_one_out(features):
    _, x, y = draws(4, features)
    bandwidths = np.array([0.3, 0.7, 5.0])
    found = leave_one_out(x, y, bandwidths)
    for bandwidth, loss, error in zip(bandwidths, found.loss, found.stderr, strict=True):
        squares = []
        for point in range(POINTS):
            rest = np.arange(POINTS) != point
            fit, _ = loop_fit(x[[point]], x[rest], y[rest], bandwidth)
            squares.append((fit[0] - y[point]) ** 2)
        assert loss == pytest.approx(np.mean(squares), rel=1e-5)
        assert error == pytest.approx(np.std(squares, ddof=1) / np.sqrt(POINTS), rel=1e-5)
        metric = isotropic(features, bandwidth)
        assert left_out_error(metric, x, y) == pytest.approx((loss, error), rel=1e-5)
        assert metric_loss(metric, *(jnp.asarray(p, jnp.float32) for p in (x, y))) == (
            pytest.approx(loss, rel=1e-5)
        )
    assert found.best == found.loss.argmin()


@pytest.mark.parametrize("name", [*CURVES, *PLANES])
def test_data_are_truth_and_noise(name):
    data = {**CURVES, **PLANES}[name]
    x, y = draw_sample(data._replace(points=4_000), key=jr.key(1))
    assert x.shape == (4_000, data.features)
    assert x.min() >= 0
    assert x.max() <= 1
    noise = y - np.asarray(data.truth(jnp.asarray(x, jnp.float32)), np.float64)
    # The standard error of a standard deviation is σ/√(2n), that of a mean σ/√n.
    assert abs(noise.std() - data.noise) < 4 * data.noise / np.sqrt(8_000)
    assert abs(noise.mean()) < 4 * data.noise / np.sqrt(4_000)


def learned(name, seed=0, **settings):
    data = PLANES[name]
    sample = draw_sample(data, key=jr.key(seed))
    new = draw_sample(data._replace(points=2_000, noise=0.0), key=jr.key(seed + 100))
    settings = {"learning_rate": 0.1, "steps": 300, "chunk": 50, **settings}
    passed = list(learn_metric(*sample, isotropic(2, 0.3), **settings))
    return sample, new, passed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one irrelevant", "slanted"])
def test_the_learned_kernel_beats_the_best_fixed_bandwidth(name):
    sample, new, passed = learned(name)
    left_out = leave_one_out(*sample, np.geomspace(0.01, 1, 61))
    assert passed[-1].losses[-1] < 0.8 * left_out.loss[left_out.best]
    fixed = isotropic(2, left_out.bandwidths[left_out.best])
    (of_fixed, one), (of_learned, other) = (
        error_against_truth(metric, new.x, new.y, *sample) for metric in (fixed, passed[-1].metric)
    )
    assert of_learned + 3 * np.hypot(one, other) < of_fixed


@pytest.mark.slow
def test_chunks_do_not_matter():
    sample, _, whole = learned("slanted", steps=60, chunk=60)
    _, _, parts = learned("slanted", steps=60, chunk=25)
    assert [progress.step for progress in parts] == [25, 50, 60]
    assert [len(progress.losses) for progress in parts] == [26, 51, 61]
    np.testing.assert_allclose(parts[-1].losses, whole[-1].losses, rtol=1e-4)
    np.testing.assert_allclose(parts[-1].metric.query, whole[-1].metric.query, rtol=1e-3, atol=1e-3)
    start = left_out_error(isotropic(2, 0.3), *sample)[0]
    assert whole[-1].losses[0] == pytest.approx(start, rel=1e-5)
    assert left_out_error(whole[-1].metric, *sample)[0] == (
        pytest.approx(whole[-1].losses[-1], rel=1e-4)
    )
