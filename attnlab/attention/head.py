"""Attention of one head over one sequence: masks, scales and `attend`."""

from types import MappingProxyType
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from attnlab.attention.products import weighted_sums
from attnlab.attention.scores import AbstractScore, DotProduct

_DOT_PRODUCT = DotProduct()


class Attended(NamedTuple):
    """What a head gives each query, and how it divided its attention among the keys."""

    output: Float[Array, "query d_value"]
    pattern: Float[Array, "query key"]


def attend(
    query: Float[Array, "query d_attn"],
    key: Float[Array, "key d_attn"],
    value: Float[Array, "key d_value"],
    *,
    mask: Bool[Array, "query key"],
    scale: float | Float[Array, ""],
    bias: Float[Array, "query key"] | float = 0.0,
    score: AbstractScore = _DOT_PRODUCT,
) -> Attended:
    """Attention of one head: pattern = softmax(scale · query keyᵀ + bias), output = pattern value.

    Another `score` takes the place of query keyᵀ.
    The softmax runs over the keys that `mask` admits (True: may be attended to); the others get
    exactly 0, and so do their gradients. A query that may attend to nothing gets a pattern and
    an output of zeros. Vaswani et al. (2017), equation 1, where scale = 1/√d_attn.
    """
    scores = scale * score.scores(query, key) + bias
    pattern = masked_softmax(scores, mask)
    return Attended(output=weighted_sums(pattern, value), pattern=pattern)


def masked_softmax(
    scores: Float[Array, "query key"], mask: Bool[Array, "query key"]
) -> Float[Array, "query key"]:
    """exp(scoreⱼ) / Σₖ exp(scoreₖ) over the unmasked keys of each query; zeros where none is."""
    possible = jnp.where(mask, scores, -jnp.inf)
    # Any shift gives the same quotient, so none has a gradient.
    largest = jax.lax.stop_gradient(possible.max(axis=-1, keepdims=True))
    # In a row without a possible key, JAX's softmax and its gradient would be no numbers.
    weights = jnp.exp(possible - jnp.where(largest == -jnp.inf, 0.0, largest))
    total = weights.sum(axis=-1, keepdims=True)
    return weights / jnp.where(total == 0, 1.0, total)


def causal(queries: Int[Array, " query"], keys: Int[Array, " key"]) -> Bool[Array, "query key"]:
    """A position sees itself and earlier positions."""
    return keys[None, :] <= queries[:, None]


def unmasked(queries: Int[Array, " query"], keys: Int[Array, " key"]) -> Bool[Array, "query key"]:
    """A position sees every position."""
    return jnp.ones((queries.size, keys.size), dtype=bool)


def published(queries: Int[Array, " query"], keys: Int[Array, " key"]) -> Bool[Array, "query key"]:
    """A position sees itself and later positions: the code of the blog post masks the past."""
    return keys[None, :] >= queries[:, None]


MASKS = MappingProxyType({"causal": causal, "none": unmasked, "published": published})

SCALES = ("1/sqrt(d)", "none", "temperature")


def scale_factor(scale: str, *, d_attn: int, temperature: float) -> float:
    """The factor on query · key for a name of `SCALES`: 1/√d_attn, 1, or 1/temperature."""
    return {"1/sqrt(d)": d_attn**-0.5, "none": 1.0, "temperature": 1 / temperature}[scale]
