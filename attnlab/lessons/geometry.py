"""The geometry of positional encodings: distances, shifts, wavelengths.

Rows are float64 NumPy arrays, made from the tables that models use.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from attnlab.configuration.options import OptionError
from attnlab.positions import (
    AbstractInputPosition,
    AbstractPosition,
    AbstractScorePosition,
    Rotary,
    Sinusoidal,
)

# Two rows closer than this share of the typical distance are hard to distinguish.
TOO_ALIKE = 0.05
# Tables are float32: the angle of a sine at position 64 is off by up to 64 rounding errors.
_ROUNDING = 1e-5

# Computing such small tables takes less time than optimising their program.
_compiled = partial(
    jax.jit, static_argnums=(0, 1, 2), compiler_options={"xla_backend_optimization_level": 0}
)

Rows = Float[np.ndarray, "length features"]


def encoding_rows(position: AbstractPosition, *, length: int, width: int) -> Rows:
    """Return a row of features for every position.

    A trainable encoding returns initial values. For rotary the rows are the vector (1, 0, 1, 0, …)
    turned at each position; other score encodings have rows without features.
    """
    longest = _rounded_up(length)
    return np.asarray(_rows(position, longest, width), dtype=np.float64)[:length]


@_compiled
def _rows(position: AbstractPosition, length: int, width: int) -> Float[Array, "length features"]:
    if isinstance(position, AbstractInputPosition):
        return position.table(length=length, width=width, key=jr.key(0))
    if isinstance(position, Rotary):
        vector = (jnp.arange(width) % 2 == 0).astype(jnp.float32)
        return position.turn(jnp.tile(vector, (length, 1)), jnp.arange(length))
    return jnp.zeros((length, 0))


def met_scores(
    position: AbstractScorePosition, *, length: int, width: int
) -> Float[np.ndarray, "query key"]:
    """Return the score at each pair of positions, with one vector as both query and key.

    The vector is (1, 0, 1, 0, …) divided by its length, so that without an encoding every score is
    1. The bias of the encoding is added.
    """
    longest = _rounded_up(length)
    return np.asarray(_met(position, longest, width), dtype=np.float64)[:length, :length]


def _rounded_up(length: int) -> int:
    # A row does not depend on the length, so lengths can share one compiled program.
    return -(-length // 64) * 64


@_compiled
def _met(position: AbstractScorePosition, length: int, width: int) -> Float[Array, "query key"]:
    days = jnp.arange(length)
    vector = (jnp.arange(width) % 2 == 0).astype(jnp.float32)
    vectors = position.turn(jnp.tile(vector / jnp.linalg.norm(vector), (length, 1)), days)
    return vectors @ vectors.T + position.bias(days, days)


def similarity(rows: Rows) -> Float[np.ndarray, "length length"]:
    """Return the cosine of the angle between every two rows; 0 for a row of zeros."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / np.where(norms > 0, norms, 1.0)
    return unit @ unit.T


def distances(rows: Rows) -> Float[np.ndarray, "length length"]:
    """Return the Euclidean distance of every two rows."""
    return np.linalg.norm(rows[:, None, :] - rows[None, :, :], axis=2)


class Profile(NamedTuple):
    """A property of pairs of positions, by distance: mean, minimum and maximum."""

    apart: np.ndarray
    mean: np.ndarray
    least: np.ndarray
    most: np.ndarray


def profile(pairs: Float[np.ndarray, "length length"]) -> Profile:
    """Return the mean, minimum and maximum of each diagonal of a matrix of pairs.

    Where `least` equals `most`, the property depends on the distance alone.
    """
    diagonals = (np.diagonal(pairs, -k) for k in range(len(pairs)))
    found = np.array([(each.mean(), each.min(), each.max()) for each in diagonals])
    return Profile(np.arange(len(pairs)), *found.T)


class Shift(NamedTuple):
    """A matrix that should map the row of any position to the row `shift` positions later.

    `error` is the largest |entry| of row(t) Mᵀ - row(t + shift) over all t. `determined` is False
    if all row(t) are linearly independent: some matrix then always fits.
    """

    matrix: Float[np.ndarray, "features features"]
    error: float
    determined: bool


def fit_shift(rows: Rows, shift: int) -> Shift:
    """Return the least-squares solution M of row(t + shift) = M row(t) over all t."""
    before, after = rows[: len(rows) - shift], rows[shift:]
    matrix = np.linalg.lstsq(before, after, rcond=None)[0].T
    error = float(np.abs(before @ matrix.T - after).max())
    return Shift(matrix, error, determined=bool(np.linalg.matrix_rank(before) < len(before)))


def shift_rotation(position: Sinusoidal, rows: Rows, shift: int) -> Shift:
    """Return M(shift) by its formula: each pair (sin, cos) turns by shift / base^(2i/d).

    By the addition theorems M maps the row of every t to the row of t + shift.

    Raises:
        OptionError: If the width of `rows` is odd.
    """
    width = rows.shape[1]
    if width % 2:
        problem = "odd, so the last sine has no cosine to turn with"
        raise OptionError("width", width, problem, "Choose an even width, or use `fit_shift`")
    angle = shift / position.base ** np.asarray(position.exponents(width), dtype=np.float64)
    matrix = np.diag(np.cos(angle))
    sines, cosines = np.arange(0, width, 2), np.arange(1, width, 2)
    matrix[sines, cosines] = np.sin(angle[sines])
    matrix[cosines, sines] = -np.sin(angle[cosines])
    error = np.abs(rows[: len(rows) - shift] @ matrix.T - rows[shift:]).max()
    return Shift(matrix, float(error), determined=True)


def wavelengths(position: AbstractPosition, width: int) -> Float[np.ndarray, " width"] | None:
    """Return the period of each component in positions, or None if nothing oscillates."""
    waving: Any = position
    if not hasattr(waving, "exponents"):
        return None
    even = width // 2 * 2 if isinstance(position, AbstractScorePosition) else width
    exponents = np.asarray(waving.exponents(even), dtype=np.float64)
    return 2 * np.pi * waving.base**exponents


class Closest(NamedTuple):
    """The two positions with the closest rows, and the typical distance of rows.

    `ties` is the number of pairs that are equally close, up to rounding; `one` and `other` are the
    first such pair. `lag` is set if there are several, and they are exactly the pairs of positions
    at the distance `lag`; otherwise it is None.
    """

    one: int
    other: int
    distance: float
    typical: float
    ties: int
    lag: int | None


def closest_pair(rows: Rows) -> Closest:
    """Return the two closest rows; `typical` is the root mean square distance of two rows."""
    apart = distances(rows)
    one, other = np.triu_indices(len(rows), 1)
    pairs = apart[one, other]
    typical = float(np.sqrt((pairs**2).mean()))
    (closest,) = np.nonzero(pairs <= pairs.min() + _ROUNDING * typical)
    first, lags = closest[0], np.unique(other[closest] - one[closest])
    is_lag = len(closest) > 1 and len(lags) == 1 and len(closest) == len(rows) - lags[0]
    return Closest(
        int(one[first]),
        int(other[first]),
        float(pairs[first]),
        typical,
        len(closest),
        int(lags[0]) if is_lag else None,
    )


def novelty(rows: Rows, trained: int) -> Float[np.ndarray, " length"]:
    """Return the distance of each row to the nearest of the first `trained` rows."""
    return distances(rows)[:, :trained].min(axis=1)
