"""`learned`: a free vector for every position."""

import dataclasses
from typing import ClassVar

import jax.random as jr
from jaxtyping import Array, Key

from attnlab.positions.base import AbstractInputPosition


@dataclasses.dataclass(frozen=True)
class Learned(AbstractInputPosition):
    """A free vector for every position, trained with the model; starts at N(0, 1) entries."""

    name: ClassVar[str] = "learned"
    summary: ClassVar[str] = "A trained vector for every position."
    trainable: ClassVar[bool] = True

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        return jr.normal(key, (length, width))
