"""`sinusoidal`: sines and cosines of many wavelengths."""

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from attnlab.configuration.options import option
from attnlab.positions.base import AbstractInputPosition
from attnlab.positions.waves import waves


@dataclasses.dataclass(frozen=True)
class Sinusoidal(AbstractInputPosition):
    """PE(t, 2i) = sin(t / base^(2i/d)), PE(t, 2i + 1) = cos(t / base^(2i/d)), t and i from 0.

    The wavelengths run from 2π to 2π base^((d-2)/d) for even d, to 2π base^((d-1)/d) for odd d.
    Vaswani et al. (2017), "Attention is all you need", section 3.5.
    """

    name: ClassVar[str] = "sinusoidal"
    summary: ClassVar[str] = "Sines and cosines of many wavelengths."
    trainable: ClassVar[bool] = False

    base: float = option(
        10_000.0,
        "Wavelengths run from 2π to less than 2π · base.",
        low=2.0,
        high=1_000_000.0,
        logarithmic=True,
    )

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        angle = waves(jnp.arange(length), self.base, self.exponents(width))
        return jnp.where(jnp.arange(width) % 2 == 0, jnp.sin(angle), jnp.cos(angle))

    def exponents(self, width: int) -> Float[np.ndarray, " width"]:
        """Component c has the wavelength 2π base^exponent."""
        return 2 * (np.arange(width) // 2) / width
