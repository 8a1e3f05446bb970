"""Dot products, which grow with width and saturate the softmax, and scores that break it."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from attnlab.attention import masked_softmax
from attnlab.optimum import entropy


class DrawnScores(NamedTuple):
    """Dot products of random vectors with independent N(0, 1) components, for several widths.

    `products` has one independent q · k for every draw. `scores` has whole rows, in which a query
    is compared with several keys.
    """

    widths: tuple[int, ...]
    products: Float[np.ndarray, "widths draws"]
    scores: Float[np.ndarray, "widths queries keys"]


def draw_scores(
    widths: Sequence[int], *, draws: int, queries: int, keys: int, key: Key[Array, ""]
) -> DrawnScores:
    """Draw random dot products of every width, independently for each width."""
    widths = tuple(widths)
    products, scores = _draw(widths, draws, queries, keys, key)
    return DrawnScores(widths, np.asarray(products), np.asarray(scores))


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _draw(widths, draws, queries, keys, key):
    of_query, of_key, of_row_query, of_row_key = jr.split(key, 4)
    # One draw for all widths: each further draw would be compiled separately. A product with 0s and
    # 1s sums the components of each width.
    owner = np.repeat(np.arange(len(widths)), widths)
    adds = jnp.asarray(owner[:, None] == np.arange(len(widths)), dtype=jnp.float32)
    total = owner.size
    pairs = jr.normal(of_query, (draws, total)) * jr.normal(of_key, (draws, total))
    rows = jr.normal(of_row_query, (queries, 1, total)) * jr.normal(
        of_row_key, (queries, keys, total)
    )
    return (pairs @ adds).T, jnp.moveaxis(rows @ adds, -1, 0)


def variance_and_error(values: Float[np.ndarray, " draws"]) -> tuple[float, float]:
    """Return the sample variance s² of independent values, and its standard error.

    Var(s²) = (μ₄ - s⁴ (n - 3)/(n - 1)) / n with the fourth central moment μ₄: Mood, Graybill and
    Boes (1974), "Introduction to the theory of statistics", theorem VI.2.
    """
    values = np.asarray(values, dtype=np.float64)
    size, variance = values.size, values.var(ddof=1)
    fourth = ((values - values.mean()) ** 4).mean()
    squared = (fourth - variance**2 * (size - 3) / (size - 1)) / size
    return float(variance), float(np.sqrt(max(squared, 0.0)))


class Histogram(NamedTuple):
    """The density of values in bins of equal width, and that of a normal distribution."""

    centres: Float[np.ndarray, " bins"]
    density: Float[np.ndarray, " bins"]
    normal: Float[np.ndarray, " bins"]


def histogram(
    values: Float[np.ndarray, " draws"], *, variance: float, reach: float, bins: int
) -> Histogram:
    """Return the distribution of `values` from -`reach` to `reach`, and that of N(0, variance)."""
    edges = np.linspace(-reach, reach, bins + 1)
    counts, _ = np.histogram(values, edges)
    width, centres = edges[1] - edges[0], (edges[1:] + edges[:-1]) / 2
    normal = np.exp(-(centres**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    return Histogram(centres, counts / (len(values) * width), normal)


class Saturation(NamedTuple):
    """The concentration of each row of a pattern, from uniform to a single key.

    `entropy` is in nats: log n for n equal weights, 0 for one key. `effective` is exp(entropy), the
    number of equally weighted keys with the same entropy. `largest` is the largest weight.
    `jacobian` is the nuclear norm of the softmax's Jacobian diag(p) - p pᵀ, through which every
    gradient of the scores passes. It equals the trace 1 - Σ p², since no eigenvalue is negative.
    `surviving` is that norm divided by 1 - 1/n, its value for a uniform pattern.
    """

    entropy: Float[np.ndarray, "*rows"]
    effective: Float[np.ndarray, "*rows"]
    largest: Float[np.ndarray, "*rows"]
    jacobian: Float[np.ndarray, "*rows"]
    surviving: Float[np.ndarray, "*rows"]


def saturation(
    pattern: Float[np.ndarray, "*rows keys"], unmasked: Bool[np.ndarray, " keys"] | None = None
) -> Saturation:
    """Return the saturation of every row, compared with a uniform row over the unmasked keys."""
    pattern = np.asarray(pattern, dtype=np.float64)
    keys = pattern.shape[-1] if unmasked is None else int(unmasked.sum())
    jacobian = 1 - (pattern**2).sum(axis=-1)
    nats = entropy(pattern)
    # A single key always has a Jacobian of 0: nothing could survive.
    most = 1 - 1 / keys if keys > 1 else 1.0
    return Saturation(nats, np.exp(nats), pattern.max(axis=-1), jacobian, jacobian / most)


def patterns(
    scores: Float[np.ndarray, "*rows keys"], unmasked: Bool[np.ndarray, " keys"]
) -> Float[np.ndarray, "*rows keys"]:
    """Return the softmax of every row over the unmasked keys, computed as in training."""
    flat = np.asarray(scores, dtype=np.float32).reshape(-1, scores.shape[-1])
    found = _masked_softmax(flat, np.broadcast_to(unmasked, flat.shape))
    return np.asarray(found).reshape(scores.shape)


_masked_softmax = jax.jit(masked_softmax)


class Case(NamedTuple):
    """Scores on which a plain softmax may break, the right answer, and the unmasked keys."""

    name: str
    scores: tuple[float, ...]
    why: str
    unmasked: tuple[bool, ...] = (True, True, True)


class Answer(NamedTuple):
    """The weights in float32: by exp(s)/Σ exp(s) literally, and by attnlab's softmax.

    `gradient` is that of the first weight with respect to every score, through attnlab's softmax.
    """

    plain: Float[np.ndarray, " keys"]
    ours: Float[np.ndarray, " keys"]
    gradient: Float[np.ndarray, " keys"]


_INF = float("inf")
CASES = (
    Case(
        "large scores",
        (1e4, 1e4 - 1, 0.0),
        "exp(10,000) overflows float32. The largest score is subtracted first, which changes no "
        "weight, so the largest exponent is 0.",
    ),
    Case(
        "very negative scores",
        (-1e4, -1e4 - 1, -2e4),
        "Every exponential is 0, and 0/0 is not a number. The same shift prevents it.",
    ),
    Case(
        "one score of -inf",
        (-_INF, 0.0, 1.0),
        "exp(-inf) is exactly 0: a key with this score gets weight 0 and gradient 0.",
    ),
    Case(
        "a row of -inf",
        (-_INF, -_INF, -_INF),
        "-inf - (-inf) is not a number. A row with no finite score gets zeros as weights: the "
        "query attends to nothing.",
    ),
    Case(
        "every key masked",
        (3.0, 1.0, 2.0),
        "All keys are masked. The weights are 0, since uniform weights would leak what the mask "
        "hides. The output of such a query is 0, and no gradient passes.",
        (False, False, False),
    ),
    Case(
        "not a number behind the mask",
        (2.0, float("nan"), 1.0),
        "A masked score is replaced before anything is computed. So it cannot spoil the weights "
        "or the gradients of the others.",
        (True, False, True),
    ),
    Case(
        "a score of +inf",
        (_INF, 0.0, 1.0),
        "inf/inf is undefined, so the weights stay nan. A run with such a score ends with an "
        "error message.",
    ),
)


def answer(case: Case) -> Answer:
    """Compute the weights of a case by a plain softmax and by attnlab's."""
    scores, unmasked = np.array([case.scores], np.float32), np.array([case.unmasked])
    plain, ours, gradient = (np.asarray(part) for part in _answer(scores, unmasked))
    return Answer(plain[0], ours[0], gradient[0])


@jax.jit
def _answer(scores: Float[Array, "1 keys"], unmasked: Bool[Array, "1 keys"]):
    exponentials = jnp.exp(jnp.where(unmasked, scores, -jnp.inf))
    plain = exponentials / exponentials.sum(axis=-1, keepdims=True)
    gradient = jax.grad(lambda some: masked_softmax(some, unmasked)[0, 0])(scores)
    return plain, masked_softmax(scores, unmasked), gradient
