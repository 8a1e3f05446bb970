"""What one head does on one sequence: the arguments of `attend`, and what it makes of them."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from attnlab.attention.head import MASKS, Attended, attend
from attnlab.attention.scores import SCORES
from attnlab.models.base import CellArithmetic
from attnlab.positions import AbstractPosition, AbstractScorePosition

# The scaled product is `dot` with the scale 1/√d.
SCORE_CHOICES = ("dot", "additive", "gaussian")
SCORE_HELP = (
    "dot: query · key, scaled as below; additive: Σ tanh(query + key); gaussian: minus half the "
    "squared distance."
)


class HeadParts(NamedTuple):
    """The arguments of `attend` for one sequence."""

    query: Float[Array, "query d_attn"]
    key: Float[Array, "key d_attn"]
    value: Float[Array, "key d_value"]
    mask: Bool[Array, "query key"]
    scale: float | Float[Array, ""]
    bias: Float[Array, "query key"]

    @classmethod
    def of(
        cls,
        query: Float[Array, "query d_attn"],
        key: Float[Array, "key d_attn"],
        value: Float[Array, "key d_value"],
        *,
        queries: Int[Array, " query"],
        position: AbstractPosition,
        mask: str,
        scale: float | Float[Array, ""],
        head: int | Int[Array, ""] = 0,
        heads: int = 1,
    ) -> "HeadParts":
        """Queries of the positions `queries` and keys of all, with what `position` does to them.

        `head` counts from 0 among the `heads` of its layer.
        """
        positions = jnp.arange(key.shape[0])
        bias = jnp.zeros((queries.size, positions.size))
        if isinstance(position, AbstractScorePosition):
            query, key = position.turn(query, queries), position.turn(key, positions)
            bias = position.bias_of_head(queries, positions, head=head, heads=heads)
        return cls(query, key, value, MASKS[mask](queries, positions), scale, bias)

    def attended(self, score: str = "dot") -> Attended:
        """The output and the pattern of the head, with the score of that name."""
        return attend(
            self.query,
            self.key,
            self.value,
            mask=self.mask,
            scale=self.scale,
            bias=self.bias,
            score=SCORES[score](),
        )

    def cell(self, key: int, score: str = "dot") -> CellArithmetic:
        """The arithmetic of the first query's cell at `key`."""
        scores = SCORES[score]().scores(self.query[:1], self.key)[0]
        return CellArithmetic(
            query=np.asarray(self.query[0]),
            key=np.asarray(self.key[key]),
            score=float(scores[key]),
            scale=float(self.scale),
            bias=float(self.bias[0, key]),
            scaled=np.asarray(self.scale * scores + self.bias[0]),
            unmasked=np.asarray(self.mask[0]),
            pattern=np.asarray(self.attended(score).pattern[0]),
            kind=score,
        )


def seen_through(mask: str, position: int, length: int) -> tuple[int, ...]:
    """The positions that `position` may attend to, through any number of layers alike."""
    unmasked = MASKS[mask](jnp.array([position]), jnp.arange(length))
    return tuple(np.flatnonzero(np.asarray(unmasked)[0]).tolist())
