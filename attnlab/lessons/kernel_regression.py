"""Nadaraya–Watson regression: equivalent to attention, which can learn its kernel."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float

from attnlab.attention import Attended, attend, gaussian_scores
from attnlab.optimum.sequences import mean_and_error

Rows = Float[np.ndarray, "points features"]
Values = Float[np.ndarray, " points"]
Queries = Float[np.ndarray, "queries features"]


def kernel_formula(queries: Queries, keys: Rows, values: Values, bandwidth: float) -> Attended:
    """Return f(x) = Σᵢ K(x, xᵢ) yᵢ / Σᵢ K(x, xᵢ) with K = exp(-‖x - xᵢ‖²/2h²), literally.

    Uses NumPy in float64, without any attention code. The result is NaN where every K underflows,
    far from all data. Nadaraya (1964), "On estimating regression"; Watson (1964), "Smooth
    regression analysis".
    """
    queries, keys = np.asarray(queries, np.float64), np.asarray(keys, np.float64)
    squared = ((queries[:, None, :] - keys[None, :, :]) ** 2).sum(axis=-1)
    kernel = np.exp(-squared / (2 * bandwidth**2))
    with np.errstate(invalid="ignore"):
        pattern = kernel / kernel.sum(axis=1, keepdims=True)
    return Attended(output=(pattern @ np.asarray(values, np.float64))[:, None], pattern=pattern)


def gaussian_attention(
    queries: Float[Array, "query features"],
    keys: Float[Array, "key features"],
    values: Float[Array, " key"],
    bandwidth: float | Float[Array, ""],
    *,
    mask: Bool[Array, "query key"] | None = None,
) -> Attended:
    """Attend with `gaussian_scores`: the pattern is the normalised kernel, the output the fit.

    `attend` gets queries and keys of width 0, so that the bias is the whole score.
    """
    return attend(
        queries[:, :0],
        keys[:, :0],
        values[:, None],
        mask=jnp.ones((len(queries), len(keys)), dtype=bool) if mask is None else mask,
        scale=1.0,
        bias=gaussian_scores(queries, keys, bandwidth),
    )


_attend = jax.jit(gaussian_attention)


def attention_fit(queries: Queries, keys: Rows, values: Values, bandwidth: float) -> Attended:
    """Return `gaussian_attention` without a mask, in the precision of `queries`."""
    with jax.enable_x64(queries.dtype == np.float64):
        return jax.device_get(_attend(queries, keys, values, queries.dtype.type(bandwidth)))


class FormulaDifference(NamedTuple):
    """The largest differences between weights of `attention_fit` and `kernel_formula`.

    `undefined` counts the queries for which the formula is 0/0; they are not compared.
    """

    float64: float
    float32: float
    undefined: int


def agreement_with_formula(
    queries: Queries, keys: Rows, values: Values, bandwidth: float
) -> FormulaDifference:
    """Compare `attention_fit`, in float64 and in float32, with `kernel_formula`."""
    formula = kernel_formula(queries, keys, values, bandwidth).pattern
    defined = np.isfinite(formula).all(axis=1)

    def largest(dtype: type[np.floating]) -> float:
        rows, others, given = (np.asarray(part, dtype) for part in (queries, keys, values))
        apart = np.abs(attention_fit(rows, others, given, bandwidth).pattern - formula)
        return float(apart[defined].max(initial=0.0))

    return FormulaDifference(largest(np.float64), largest(np.float32), int((~defined).sum()))


def on_circle(x: Values, low: float, high: float) -> Float[np.ndarray, "points 2"]:
    """Return points of a line as points on half of the unit circle, from `low` to `high`.

    These vectors have norm 1, so Gaussian scores are dot products plus a constant.
    """
    angle = np.pi * (np.asarray(x, np.float64) - low) / (high - low)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


class DotProductDifference(NamedTuple):
    """Differences between Gaussian scores and scaled dot products of the same queries and keys.

    With keys of one norm r, -‖q - k‖²/2h² = q · k/h² - (‖q‖² + r²)/2h². The last term is equal for
    all keys of a query, so the softmax ignores it. `pattern_difference` is the largest difference
    between the two patterns. `constant_error` is how much the difference of scores varies over
    keys.
    """

    gaussian: Float[np.ndarray, "query key"]
    dot: Float[np.ndarray, "query key"]
    gaussian_pattern: Float[np.ndarray, "query key"]
    dot_pattern: Float[np.ndarray, "query key"]

    @property
    def pattern_difference(self) -> float:
        return float(np.abs(self.gaussian_pattern - self.dot_pattern).max())

    @property
    def constant_error(self) -> float:
        apart = self.dot - self.gaussian
        return float((apart.max(axis=1) - apart.min(axis=1)).max())


def dot_product(queries: Queries, keys: Rows, bandwidth: float) -> DotProductDifference:
    """Return both kinds of attention in float64: Gaussian, and dot products with scale 1/h²."""
    with jax.enable_x64(True):
        parts = _both(np.asarray(queries, np.float64), np.asarray(keys, np.float64), bandwidth)
        return DotProductDifference(*jax.device_get(parts))


@jax.jit
def _both(queries, keys, bandwidth):
    everything = jnp.ones((len(queries), len(keys)), dtype=bool)
    none, scale = jnp.zeros((len(keys), 0)), bandwidth**-2
    gaussian = gaussian_scores(queries, keys, bandwidth)
    one = gaussian_attention(queries, keys, jnp.zeros(len(keys)), bandwidth)
    other = attend(queries, keys, none, mask=everything, scale=scale)
    return gaussian, scale * (queries @ keys.T), one.pattern, other.pattern


class LeaveOneOut(NamedTuple):
    """Squared error of predicting each point from the others, as a mean with its standard error."""

    bandwidths: Float[np.ndarray, " candidates"]
    loss: Float[np.ndarray, " candidates"]
    stderr: Float[np.ndarray, " candidates"]

    @property
    def best(self) -> int:
        """The index of the candidate with the lowest loss."""
        return int(self.loss.argmin())


def leave_one_out(x: Rows, y: Values, bandwidths: Float[np.ndarray, " candidates"]) -> LeaveOneOut:
    """Return the leave-one-out loss of Gaussian attention with each bandwidth.

    The standard errors treat the points as independent, which nearly holds for many points.
    """
    arrays = (np.asarray(part, np.float32) for part in (x, y, bandwidths))
    squared = np.asarray(_errors_by_bandwidth(*arrays), np.float64)
    loss, stderr = np.array([mean_and_error(row) for row in squared]).T
    return LeaveOneOut(np.asarray(bandwidths), loss, stderr)


@jax.jit
def _errors_by_bandwidth(x, y, bandwidths):
    of_others = ~jnp.eye(len(x), dtype=bool)

    def one(bandwidth):
        return (gaussian_attention(x, x, y, bandwidth, mask=of_others).output[:, 0] - y) ** 2

    return jax.lax.map(one, bandwidths)


class Metric(NamedTuple):
    """W_Q and W_K of the kernel exp(-‖x W_Q - xᵢ W_K‖²/2); larger weights make it narrower."""

    query: Float[Array, "features width"]
    key: Float[Array, "features width"]


class MetricProgress(NamedTuple):
    """The metric after a chunk of steps, and the losses before each step and after the last."""

    step: int
    metric: Metric
    losses: Float[np.ndarray, " steps_and_one"]


def isotropic(features: int, bandwidth: float) -> Metric:
    """Return the metric with one bandwidth in all directions: W_Q = W_K = I/h."""
    weight = jnp.eye(features) / bandwidth
    return Metric(weight, weight)


def learned_attention(
    metric: Metric,
    queries: Float[Array, "query features"],
    keys: Float[Array, "key features"],
    values: Float[Array, " key"],
    *,
    mask: Bool[Array, "query key"] | None = None,
) -> Attended:
    """Return Gaussian attention between projected queries and keys, with bandwidth 1."""
    return gaussian_attention(queries @ metric.query, keys @ metric.key, values, 1.0, mask=mask)


_attend_learned = jax.jit(learned_attention)


def metric_loss(
    metric: Metric, x: Float[Array, "points features"], y: Float[Array, " points"]
) -> Float[Array, ""]:
    """Return the mean squared error of predicting each point from the others."""
    return _squared_errors(metric, x, y).mean()


@jax.jit
def _squared_errors(metric, x, y):
    of_others = ~jnp.eye(len(x), dtype=bool)
    return (learned_attention(metric, x, x, y, mask=of_others).output[:, 0] - y) ** 2


def left_out_error(metric: Metric, x: Rows, y: Values) -> tuple[float, float]:
    """Return `metric_loss` and its standard error, treating the points as independent."""
    points = (jnp.asarray(part, jnp.float32) for part in (x, y))
    return mean_and_error(np.asarray(_squared_errors(metric, *points), np.float64))


def learn_metric(
    x: Rows, y: Values, start: Metric, *, learning_rate: float, steps: int, chunk: int = 10
) -> Iterator[MetricProgress]:
    """Train W_Q and W_K by Adam on `metric_loss`, `chunk` steps at a time."""
    data = jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)
    metric, optimiser_state = start, optax.adam(0.0).init(start)
    losses = np.zeros(0)
    for before in range(0, steps, chunk):
        size = min(chunk, steps - before)
        metric, optimiser_state, passed, now = _advance(
            metric, optimiser_state, *data, jnp.float32(learning_rate), chunk, jnp.int32(size)
        )
        losses = np.concatenate([losses[:-1], np.asarray(passed[:size]), [float(now)]])
        yield MetricProgress(before + size, jax.tree.map(np.asarray, metric), losses)


@partial(jax.jit, static_argnums=5)
def _advance(metric, optimiser_state, x, y, learning_rate, capacity, steps):
    optimiser = optax.adam(learning_rate)

    def one_step(i, carry):
        metric, optimiser_state, losses = carry
        loss, gradient = jax.value_and_grad(metric_loss)(metric, x, y)
        updates, optimiser_state = optimiser.update(gradient, optimiser_state)
        return optax.apply_updates(metric, updates), optimiser_state, losses.at[i].set(loss)

    metric, optimiser_state, losses = jax.lax.fori_loop(
        0, steps, one_step, (metric, optimiser_state, jnp.zeros(capacity))
    )
    return metric, optimiser_state, losses, metric_loss(metric, x, y)


def error_against_truth(
    metric: Metric, queries: Queries, truth: Float[np.ndarray, " queries"], x: Rows, y: Values
) -> tuple[float, float]:
    """Return the mean squared error against the truth at new points, and its standard error.

    The standard error is over the new points only, for fixed data.
    """
    parts = (jnp.asarray(part, jnp.float32) for part in (queries, x, y))
    predicted = np.asarray(_attend_learned(metric, *parts).output[:, 0], np.float64)
    return mean_and_error((predicted - truth) ** 2)
