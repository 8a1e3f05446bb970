"""Attention learns the kernel: projections of queries and keys trained by leaving one out."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from attnlab.attention.head import Attended
from attnlab.lessons.kernel_regression import gaussian_attention, others
from attnlab.optimum.sampled import mean_and_error


class Metric(NamedTuple):
    """W_Q and W_K: the kernel is exp(-‖x W_Q - xᵢ W_K‖²/2). A feature's row is its sharpness."""

    query: Float[Array, "features width"]
    key: Float[Array, "features width"]


class MetricProgress(NamedTuple):
    """After a chunk of steps: the metric, and the loss before each step so far and now."""

    step: int
    metric: Metric
    losses: Float[np.ndarray, " steps_and_one"]


def isotropic(features: int, bandwidth: float) -> Metric:
    """The metric in which all directions have one bandwidth: W_Q = W_K = I/h."""
    weight = jnp.eye(features) / bandwidth
    return Metric(weight, weight)


def learned_attention(
    metric: Metric,
    queries: Float[Array, "query features"],
    keys: Float[Array, "key features"],
    values: Float[Array, " key"],
    *,
    leave_one_out: bool = False,
) -> Attended:
    """Gaussian attention between projected queries and keys, with bandwidth 1."""
    mask = others(len(keys)) if leave_one_out else jnp.ones((len(queries), len(keys)), dtype=bool)
    return gaussian_attention(queries @ metric.query, keys @ metric.key, values, 1.0, mask=mask)


def metric_loss(
    metric: Metric, x: Float[Array, "points features"], y: Float[Array, " points"]
) -> Float[Array, ""]:
    """Mean squared error of predicting each point from the others."""
    return _squared_errors(metric, x, y).mean()


@jax.jit
def _squared_errors(metric, x, y):
    return (learned_attention(metric, x, x, y, leave_one_out=True).output[:, 0] - y) ** 2


def left_out_error(
    metric: Metric, x: Float[np.ndarray, "points features"], y: Float[np.ndarray, " points"]
) -> tuple[float, float]:
    """`metric_loss` and its standard error, the points taken as independent."""
    x, y = (jnp.asarray(part, jnp.float32) for part in (x, y))
    return mean_and_error(np.asarray(_squared_errors(metric, x, y), np.float64))


def learn_metric(
    x: Float[np.ndarray, "points features"],
    y: Float[np.ndarray, " points"],
    start: Metric,
    *,
    learning_rate: float,
    steps: int,
    chunk: int = 10,
) -> Iterator[MetricProgress]:
    """Train W_Q and W_K by Adam on `metric_loss`, `chunk` steps at a time."""
    x, y = (jnp.asarray(part, jnp.float32) for part in (x, y))
    metric, optimiser_state = start, optax.adam(0.0).init(start)
    losses = np.zeros(0)
    for before in range(0, steps, chunk):
        size = min(chunk, steps - before)
        metric, optimiser_state, passed, now = _advance(
            metric, optimiser_state, x, y, jnp.float32(learning_rate), chunk, jnp.int32(size)
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
    metric: Metric,
    queries: Float[np.ndarray, "query features"],
    truth: Float[np.ndarray, " query"],
    x: Float[np.ndarray, "points features"],
    y: Float[np.ndarray, " points"],
) -> tuple[float, float]:
    """Mean squared error against the noiseless truth at new points, and its standard error.

    The error is over the new points alone, with the data as they are.
    """
    parts = (jnp.asarray(part, jnp.float32) for part in (queries, x, y))
    predicted = np.asarray(_predict(metric, *parts), np.float64)
    return mean_and_error((predicted - truth) ** 2)


@jax.jit
def _predict(metric, queries, x, y):
    return learned_attention(metric, queries, x, y).output[:, 0]
