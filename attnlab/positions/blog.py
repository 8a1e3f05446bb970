"""`blog-described` and `blog-published`: a blog post's two sinusoidal forms."""

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from attnlab.configuration.options import option
from attnlab.positions.base import AbstractInputPosition
from attnlab.positions.waves import from_one, waves


@dataclasses.dataclass(frozen=True)
class BlogDescribed(AbstractInputPosition):
    """Component 2i - 1 = sin(t / base^(2i/d)) and 2i = cos(t / base^(2i/d)), t and i from 1.

    The form in the text of the blog post that the published presets reproduce.
    """

    name: ClassVar[str] = "blog-described"
    summary: ClassVar[str] = (
        "Sinusoidal, as in the text of the blog post “Understanding what self-attention is "
        "doing” (2023)."
    )
    trainable: ClassVar[bool] = False

    base: float = option(
        20.0, "The constant L of the blog post.", low=2.0, high=1_000_000.0, logarithmic=True
    )

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        angle = waves(from_one(length), self.base, self.exponents(width))
        return jnp.where(from_one(width) % 2 == 1, jnp.sin(angle), jnp.cos(angle))

    def exponents(self, width: int) -> Float[np.ndarray, " width"]:
        """Component c has the wavelength 2π base^exponent."""
        return 2 * (np.arange(2, width + 2) // 2) / width


@dataclasses.dataclass(frozen=True)
class BlogPublished(AbstractInputPosition):
    """Component i = sin(t / base^(i/d)) for even i, cos(t / base^((i-1)/d)) for odd, from 1.

    The form in the code of the blog post that the published presets reproduce.
    """

    name: ClassVar[str] = "blog-published"
    summary: ClassVar[str] = (
        "Sinusoidal, as in the code of the blog post “Understanding what self-attention is "
        "doing” (2023)."
    )
    trainable: ClassVar[bool] = False

    base: float = option(
        20.0, "The constant L of the blog post.", low=2.0, high=1_000_000.0, logarithmic=True
    )

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        angle = waves(from_one(length), self.base, self.exponents(width))
        return jnp.where(from_one(width) % 2 == 0, jnp.sin(angle), jnp.cos(angle))

    def exponents(self, width: int) -> Float[np.ndarray, " width"]:
        """Component c has the wavelength 2π base^exponent."""
        return 2 * (np.arange(1, width + 1) // 2) / width
