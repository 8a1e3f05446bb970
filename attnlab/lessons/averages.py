"""The mean of the past, three ways: attention that gives every day it may see the same weight."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab.attention.head import causal, masked_softmax


def average_by_loop(
    rows: Float[np.ndarray, "length channels"],
) -> Float[np.ndarray, "length channels"]:
    """Row t is the mean of the rows up to t: a loop over t, with a mean in each turn."""
    means = np.zeros_like(rows)
    for t in range(len(rows)):
        means[t] = rows[: t + 1].mean(axis=0)
    return means


def average_by_matrix(
    rows: Float[Array, "length channels"],
) -> Float[Array, "length channels"]:
    """The same as one product: a lower triangle of ones, each row divided by its sum."""
    length = rows.shape[0]
    triangle = jnp.tril(jnp.ones((length, length)))
    return (triangle / triangle.sum(axis=1, keepdims=True)) @ rows


def average_by_softmax(
    rows: Float[Array, "length channels"],
) -> Float[Array, "length channels"]:
    """The same as attention does it: the masked softmax of scores that are all zero."""
    length = rows.shape[0]
    days = jnp.arange(length)
    return masked_softmax(jnp.zeros((length, length)), causal(days, days)) @ rows
