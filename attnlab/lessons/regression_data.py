"""Data sets for regression whose truth is known."""

from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Key


class DataSet(NamedTuple):
    """A truth on [0, 1]^features, how many points are drawn, and the noise on them.

    y = truth(x) + noise · N(0, 1); x is uniform, raised to `crowding` in one dimension, which
    crowds points near 0. `truth` takes rows of features.
    """

    summary: str
    features: int
    points: int
    noise: float
    truth: Callable[[Float[Array, "rows features"]], Float[Array, " rows"]]
    crowding: float = 1.0


class Sample(NamedTuple):
    """Points of a data set."""

    x: Float[np.ndarray, "points features"]
    y: Float[np.ndarray, " points"]


def draw_sample(data: DataSet, *, key: Key[Array, ""]) -> Sample:
    """As many points as the data set has."""
    of_x, of_noise = jr.split(key)
    x = jr.uniform(of_x, (data.points, data.features)) ** data.crowding
    y = data.truth(x) + data.noise * jr.normal(of_noise, (data.points,))
    return Sample(np.asarray(x, np.float64), np.asarray(y, np.float64))


def _waves(x):
    return jnp.sin(2 * jnp.pi * 1.5 * x[:, 0])


def _step(x):
    return jnp.where(x[:, 0] < 0.5, -0.6, 0.8)


def _quickening(x):
    return jnp.sin(2 * jnp.pi * 3 * x[:, 0] ** 2) * (1 - 0.5 * x[:, 0])


CURVES = MappingProxyType(
    {
        "waves": DataSet("A sine and noise.", 1, 60, 0.25, _waves),
        "step": DataSet("A jump that no smooth kernel can follow.", 1, 60, 0.2, _step),
        "quickening": DataSet(
            "Varies slowly at the left and quickly at the right: no bandwidth suits both.",
            1,
            90,
            0.15,
            _quickening,
        ),
        "crowded left": DataSet(
            "A sine with points dense at the left and sparse at the right.",
            1,
            60,
            0.25,
            _waves,
            3.0,
        ),
    }
)


def _first_alone(x):
    return jnp.sin(2 * jnp.pi * 1.5 * x[:, 0])


def _slanted(x):
    return jnp.sin(2 * jnp.pi * 1.1 * (x[:, 0] + x[:, 1]))


def _round(x):
    return jnp.cos(2 * jnp.pi * 1.2 * jnp.hypot(x[:, 0] - 0.5, x[:, 1] - 0.5))


PLANES = MappingProxyType(
    {
        "one irrelevant": DataSet(
            "Only feature 1 matters; feature 2 is irrelevant.",
            2,
            150,
            0.2,
            _first_alone,
        ),
        "slanted": DataSet(
            "Only the sum of the features matters, not their difference.", 2, 150, 0.2, _slanted
        ),
        "round": DataSet(
            "Both features matter alike: the fixed kernel has the right shape already.",
            2,
            150,
            0.2,
            _round,
        ),
    }
)
