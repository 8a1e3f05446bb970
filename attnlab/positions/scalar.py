"""`scalar`: the day number as a feature."""

import dataclasses
from typing import ClassVar

from jaxtyping import Array, Key

from attnlab.configuration.options import option
from attnlab.positions.base import AbstractInputPosition
from attnlab.positions.waves import from_one


@dataclasses.dataclass(frozen=True)
class Scalar(AbstractInputPosition):
    """One feature t / period, with the day t counted from 1. The blog's models use period 20."""

    name: ClassVar[str] = "scalar"
    summary: ClassVar[str] = "One extra feature, the day number over a constant."
    trainable: ClassVar[bool] = False

    period: float = option(20.0, "Day number is divided by this.", low=1.0, high=1000.0)

    def table(self, *, length: int, width: int, key: Key[Array, ""]):
        return from_one(length)[:, None] / self.period
