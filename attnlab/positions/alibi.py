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

    The paper gives n heads the slopes 2^(-8/n), 2^(-16/n), …, 2^-8: for eight heads 1/2 to 1/256,
    and for a single one 1/256, which over ten days is next to nothing. The default is the
    steepest of the eight. Press et al. (2022), "Train short, test long", section 3; there later
    keys are masked, here the distance counts to both sides.
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

    def turn(self, vectors: Float[Array, "some d_attn"], positions: Int[Array, " some"]):
        return vectors

    def bias(self, queries: Int[Array, " query"], keys: Int[Array, " key"]):
        distance = jnp.abs(queries[:, None] - keys[None, :])
        return -self.slope * distance.astype(jnp.float32)
