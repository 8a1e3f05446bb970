"""`none`: no signal of order."""

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Key

from attnlab.positions.base import AbstractInputPosition


@dataclasses.dataclass(frozen=True)
class NoPosition(AbstractInputPosition):
    """Add nothing: only a causal mask, over two layers or more, still shows the order."""

    name: ClassVar[str] = "none"
    summary: ClassVar[str] = "No positional information: one layer sees the days as a set."
    trainable: ClassVar[bool] = False

    def tells_order(self, *, d_attn: int) -> bool:
        return False

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        return jnp.zeros((length, 0))
