"""Normalisations of the vectors between layers, by name."""

from types import MappingProxyType

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

# Zhang and Sennrich (2019), equation 4: without a bias.
NORMALISERS = MappingProxyType(
    {
        "LayerNorm": eqx.nn.LayerNorm,
        "RMSNorm": lambda width: eqx.nn.RMSNorm(width, use_bias=False),
    }
)
Normaliser = eqx.nn.LayerNorm | eqx.nn.RMSNorm


def normalised(
    normaliser: Normaliser, rows: Float[Array, "rows width"]
) -> Float[Array, "rows width"]:
    """Every row on its own."""
    return jax.vmap(normaliser)(rows)


def in_normalised(
    normaliser: Normaliser | None, parts: Float[Array, "parts width"]
) -> tuple[Float[Array, "parts width"], Float[Array, " width"]]:
    """The parts of a row as they stand in the normalised row, and its bias: they sum to it.

    What a normalisation divides by is that of the whole row, the sum of the parts.
    """
    if normaliser is None:
        return parts, jnp.zeros(parts.shape[1])
    if isinstance(normaliser, eqx.nn.LayerNorm):
        parts = parts - parts.mean(axis=1, keepdims=True)
    size = jnp.sqrt((parts.sum(axis=0) ** 2).mean() + normaliser.eps)
    bias = jnp.zeros(parts.shape[1]) if normaliser.bias is None else normaliser.bias
    return parts / size * normaliser.weight[None, :], bias
