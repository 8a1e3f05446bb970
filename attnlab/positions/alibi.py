"""`alibi`: a penalty on the score that grows with the distance."""

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from attnlab.configuration.options import option
from attnlab.positions.base import AbstractScorePosition


@dataclasses.dataclass(frozen=True)
class Alibi(AbstractScorePosition):
    """Attention with linear biases: -slope · |query - key| is added to the scaled score.

    With the slopes `by head`, head i of n has slope^(8i/n). The default slope, 1/2, gives those of
    the paper: 2^(-8/n), 2^(-16/n), …, 2^-8, for eight heads 1/2 to 1/256, and for a single one
    1/256, which over ten positions is next to nothing. Press et al. (2022), "Train short, test
    long", section 3; there later keys are masked, here the distance counts to both sides.
    """

    name: ClassVar[str] = "alibi"
    summary: ClassVar[str] = "A score falls with the distance in days."

    slope: float = option(
        0.5,
        "Amount subtracted from a score per day of distance.",
        low=0.001,
        high=10.0,
        logarithmic=True,
    )
    slopes: str = option(
        "equal",
        "equal: every head has the slope; by head: powers of it, from steep to flat.",
        choices=("equal", "by head"),
    )

    def turn(self, vectors: Float[Array, "some d_attn"], positions: Int[Array, " some"]):
        return vectors

    def bias(self, queries: Int[Array, " query"], keys: Int[Array, " key"]):
        return self.bias_of_head(queries, keys, head=0, heads=1)

    def bias_of_head(
        self,
        queries: Int[Array, " query"],
        keys: Int[Array, " key"],
        *,
        head: int | Int[Array, ""],
        heads: int,
    ):
        distance = jnp.abs(queries[:, None] - keys[None, :])
        power = 8 * (head + 1) / heads if self.slopes == "by head" else 1
        return -(self.slope**power) * distance.astype(jnp.float32)
