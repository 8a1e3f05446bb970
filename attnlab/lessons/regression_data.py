"""Data sets for regression: some with a known truth, and points typed by the user."""

import math
from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Key

from attnlab.configuration.options import OptionError, check_typed

FEWEST, MOST = 3, 500
MOST_LETTERS = 20_000
_LARGEST = 1e6
_REMEDY = "Write one point per line: x and y separated by a space, comma or tab"


class DataSet(NamedTuple):
    """A true function on [0, 1]^features, the number of sampled points, and their noise.

    y = truth(x) + noise · N(0, 1). x is uniform, raised to the power `crowding`; above 1 this
    crowds points near 0. `truth` takes rows of features.
    """

    summary: str
    features: int
    points: int
    noise: float
    truth: Callable[[Any], Any]
    crowding: float = 1.0

    @property
    def description(self) -> str:
        """The summary, the number of points and their noise, as text."""
        noise = f"with noise of standard deviation {self.noise:g}"
        return f"{self.summary} There are {self.points} points, {noise}."


class Sample(NamedTuple):
    """Points of a data set."""

    x: Float[np.ndarray, "points features"]
    y: Float[np.ndarray, " points"]


def draw_sample(data: DataSet, *, key: Key[Array, ""]) -> Sample:
    """Draw a sample of the data set's size."""
    of_x, of_noise = jr.split(key)
    x = jr.uniform(of_x, (data.points, data.features)) ** data.crowding
    y = data.truth(x) + data.noise * jr.normal(of_noise, (data.points,))
    return Sample(np.asarray(x, np.float64), np.asarray(y, np.float64))


def _waves(x):
    return jnp.sin(2 * jnp.pi * 1.5 * x[:, 0])


_line = partial(DataSet, features=1, points=60)
CURVES = MappingProxyType(
    {
        "waves": _line("The truth is a sine.", noise=0.25, truth=_waves),
        "step": _line(
            "The truth jumps. No smooth kernel can follow it.",
            noise=0.2,
            truth=lambda x: jnp.where(x[:, 0] < 0.5, -0.6, 0.8),
        ),
        "quickening": _line(
            "The truth varies slowly at the left, quickly at the right. No bandwidth suits both.",
            points=90,
            noise=0.15,
            truth=lambda x: jnp.sin(2 * jnp.pi * 3 * x[:, 0] ** 2) * (1 - 0.5 * x[:, 0]),
        ),
        "crowded left": _line(
            "The truth is a sine. Its points are dense at the left and sparse at the right.",
            noise=0.25,
            truth=_waves,
            crowding=3.0,
        ),
    }
)
_plane = partial(DataSet, features=2, points=150, noise=0.2)
PLANES = MappingProxyType(
    {
        "one irrelevant": _plane("Only feature 1 matters; feature 2 is irrelevant.", truth=_waves),
        "slanted": _plane(
            "Only the sum of the features matters, not their difference.",
            truth=lambda x: jnp.sin(2 * jnp.pi * 1.1 * (x[:, 0] + x[:, 1])),
        ),
        "round": _plane(
            "Both features matter equally: the fixed kernel has the right shape already.",
            truth=lambda x: jnp.cos(2 * jnp.pi * 1.2 * jnp.hypot(x[:, 0] - 0.5, x[:, 1] - 0.5)),
        ),
    }
)


def read_points(name: str, text: str) -> tuple[Float[np.ndarray, " points"], ...]:
    """Read x and y from lines such as `0.5, 1.2`; empty lines are skipped.

    Raises:
        OptionError: If a line (named in the message) is not two numbers from -1,000,000 to
            1,000,000, if there are fewer than 3 points or more than 500, or if all x are equal.

    """
    check_typed(name, text, most=MOST_LETTERS)
    points = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            points.append(_point(f"{name} line {number}", line))
        if len(points) > MOST:
            problem = f"more than {MOST} points"
            raise OptionError(name, f"line {number}", problem, "Leave some of them out")
    if len(points) < FEWEST:
        raise OptionError(name, text, f"fewer than {FEWEST} points", _REMEDY)
    x, y = np.array(points, dtype=np.float64).T
    if np.ptp(x) < 1e-6 * max(1.0, float(np.abs(x).max())):
        raise OptionError(name, float(x[0]), "the x of every point", "Give points of different x")
    return x, y


def _point(name: str, line: str) -> tuple[float, float]:
    parts = line.replace(",", " ").replace(";", " ").split()
    try:
        x, y = (float(part) for part in parts)
    except ValueError:
        raise OptionError(name, line.strip(), "not two numbers", _REMEDY) from None
    for value in (x, y):
        if not math.isfinite(value) or abs(value) > _LARGEST:
            problem = "not a finite number from −1,000,000 to 1,000,000"
            raise OptionError(name, value, problem, "Correct it or leave the line out")
    return x, y
