"""`rotary`: queries and keys are turned by angles that grow with their position."""

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.options import option
from attnlab.positions.base import AbstractScorePosition
from attnlab.positions.waves import waves


@dataclasses.dataclass(frozen=True)
class Rotary(AbstractScorePosition):
    """Components 2i and 2i + 1 of a query or key at position t turn by t / base^(2i/d), i from 0.

    d is `d_attn`, less 1 where that is odd: the last component then has no partner and stays, and
    with `d_attn` 1 nothing turns at all. A rotation keeps lengths, and the product of a query
    turned by q angles and a key turned by k depends on q - k alone. Su et al. (2021), "RoFormer",
    equations 14 and 15.
    """

    name: ClassVar[str] = "rotary"
    summary: ClassVar[str] = "Queries and keys are rotated; a score depends on their distance."

    base: float = option(
        10_000.0,
        "Wavelengths run from 2π to less than 2π · base.",
        low=2.0,
        high=1_000_000.0,
        logarithmic=True,
    )

    def tells_order(self, *, d_attn: int) -> bool:
        # A single component has no partner to turn with.
        return d_attn > 1

    def turn(self, vectors: Float[Array, "some d_attn"], positions: Int[Array, " some"]):
        pairs = vectors.shape[1] // 2
        angle = waves(positions, self.base, self.exponents(2 * pairs)[::2])
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        even, odd = vectors[:, 0 : 2 * pairs : 2], vectors[:, 1 : 2 * pairs : 2]
        turned = jnp.stack([even * cos - odd * sin, even * sin + odd * cos], axis=2)
        return jnp.concatenate(
            [turned.reshape(len(vectors), 2 * pairs), vectors[:, 2 * pairs :]], axis=1
        )

    def exponents(self, width: int) -> Float[np.ndarray, " width"]:
        """Component c turns once in 2π base^exponent positions."""
        return 2 * (np.arange(width) // 2) / max(width, 1)

    def bias(self, queries: Int[Array, " query"], keys: Int[Array, " key"]):
        return jnp.zeros((queries.size, keys.size))
