"""The angles that sinusoidal encodings are made of."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int


def from_one(length: int) -> Int[Array, " length"]:
    """1, 2, …: positions as the user counts them."""
    return jnp.arange(1, length + 1)


def waves(
    time: Int[Array, " length"], base: float, exponent: Float[np.ndarray, " width"]
) -> Float[Array, "length width"]:
    """time / base^exponent, a column for every exponent."""
    return time[:, None] / base ** exponent[None, :]
