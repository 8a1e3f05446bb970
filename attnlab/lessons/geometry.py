"""How a positional encoding lays the positions out: distances, shifts, wavelengths.

Rows are NumPy arrays in float64, from the tables that models are given.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from attnlab.positions import (
    AbstractInputPosition,
    AbstractPosition,
    AbstractScorePosition,
    Rotary,
    Sinusoidal,
)

# Two rows nearer than this share of the typical distance are hard to tell apart.
TOO_ALIKE = 0.05
# Tables are float32, and the angle of a sine at position 64 is off by 64 roundings.
_ROUNDING = 1e-5

# Tables so small are sooner computed than a fast program for them is found.
_compiled = partial(
    jax.jit, static_argnums=(0, 1, 2), compiler_options={"xla_backend_optimization_level": 0}
)

Rows = Float[np.ndarray, "length features"]


def encoding_rows(position: AbstractPosition, *, length: int, width: int) -> Rows:
    """A row of features for every position.

    A trainable encoding gives starting values. For rotary the rows are the vector (1, 0, 1,
    0, …) as it is turned at each position; other score encodings have rows without features.
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
    """The score of one vector with itself, standing as query and as key at every two positions.

    The vector is (1, 0, 1, 0, …) over the root of its length, so that without an encoding every
    score is 1. The bias of the encoding is added.
    """
    longest = _rounded_up(length)
    return np.asarray(_met(position, longest, width), dtype=np.float64)[:length, :length]


def _rounded_up(length: int) -> int:
    # A row does not depend on the length, so that lengths can share one compiled program.
    return -(-length // 64) * 64


@_compiled
def _met(position: AbstractScorePosition, length: int, width: int) -> Float[Array, "query key"]:
    days = jnp.arange(length)
    vector = (jnp.arange(width) % 2 == 0).astype(jnp.float32)
    vectors = position.turn(jnp.tile(vector / jnp.linalg.norm(vector), (length, 1)), days)
    return vectors @ vectors.T + position.bias(days, days)


def similarity(rows: Rows) -> Float[np.ndarray, "length length"]:
    """The cosine of the angle between every two rows; 0 for a row of zeros."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / np.where(norms > 0, norms, 1.0)
    return unit @ unit.T


def distances(rows: Rows) -> Float[np.ndarray, "length length"]:
    """The Euclidean distance of every two rows."""
    return np.linalg.norm(rows[:, None, :] - rows[None, :, :], axis=2)


class Profile(NamedTuple):
    """A figure of two positions by how far they are apart: its mean, least and most."""

    apart: np.ndarray
    mean: np.ndarray
    least: np.ndarray
    most: np.ndarray


def profile(pairs: Float[np.ndarray, "length length"]) -> Profile:
    """The diagonals of a matrix of pairs: from 0 positions apart to length - 1.

    Where `least` and `most` meet, the figure depends on the distance alone.
    """
    by_distance = [np.diagonal(pairs, -k) for k in range(len(pairs))]
    figures = ([f(diagonal) for diagonal in by_distance] for f in (np.mean, np.min, np.max))
    return Profile(np.arange(len(pairs)), *map(np.array, figures))


class Shift(NamedTuple):
    """One matrix that should take the row of any position to the row `shift` positions on.

    `error` is the largest |entry| of row(t) Mᵀ - row(t + shift) over all t. `determined` is
    False where all row(t) are linearly independent: some matrix then fits whatever follows them.
    """

    matrix: Float[np.ndarray, "features features"]
    error: float
    determined: bool


def fit_shift(rows: Rows, shift: int) -> Shift:
    """The matrix M that comes closest to row(t + shift) = M row(t), in least squares over t."""
    before, after = rows[: len(rows) - shift], rows[shift:]
    matrix = np.linalg.lstsq(before, after, rcond=None)[0].T
    error = float(np.abs(before @ matrix.T - after).max())
    return Shift(matrix, error, determined=bool(np.linalg.matrix_rank(before) < len(before)))


def shift_rotation(position: Sinusoidal, rows: Rows, shift: int) -> Shift:
    """M(shift) from its formula: each pair (sin, cos) turns by the angle shift / base^(2i/d).

    By the addition theorems it takes the row of every t to the row of t + shift. `rows` are those
    of the encoding, of even width: the last sine of an odd width has no cosine to turn with.
    """
    width = rows.shape[1]
    angle = shift / position.base ** np.asarray(position.exponents(width), dtype=np.float64)
    matrix = np.diag(np.cos(angle))
    sines, cosines = np.arange(0, width, 2), np.arange(1, width, 2)
    matrix[sines, cosines] = np.sin(angle[sines])
    matrix[cosines, sines] = -np.sin(angle[cosines])
    error = np.abs(rows[: len(rows) - shift] @ matrix.T - rows[shift:]).max()
    return Shift(matrix, float(error), determined=True)


def wavelengths(position: AbstractPosition, width: int) -> Float[np.ndarray, " width"] | None:
    """Positions until a component comes round again, or None where nothing oscillates."""
    if not hasattr(position, "exponents"):
        return None
    even = width // 2 * 2 if isinstance(position, AbstractScorePosition) else width
    exponents = np.asarray(position.exponents(even), dtype=np.float64)
    return 2 * np.pi * position.base**exponents


class Closest(NamedTuple):
    """The two positions that an encoding tells apart least, and how far its rows usually lie.

    `ties` is how many pairs are as close, up to rounding; `one` and `other` are the first of them.
    `lag` is how far apart the positions of each such pair are, where these are all pairs so far
    apart and more than one; else None.
    """

    one: int
    other: int
    distance: float
    typical: float
    ties: int
    lag: int | None


def closest_pair(rows: Rows) -> Closest:
    """Return the two rows of least distance; `typical` is the root mean square distance of two."""
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
    """How far each row is from the nearest of the first `trained` ones, which are at 0."""
    return distances(rows)[:, :trained].min(axis=1)
