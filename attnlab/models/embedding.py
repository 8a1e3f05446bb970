"""What a model sees of a day: its token and its position."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from attnlab.models.initialisation import Projection


class Embedding(NamedTuple):
    """The features of a day are the sum of its token's row and its position's row."""

    tokens: Float[Array, "vocab inputs"]
    positions: Float[Array, "length inputs"]


def side_by_side(
    tokens: Float[Array, "vocab token_features"],
    positions: Float[Array, "length position_features"],
) -> Embedding:
    """Token features first and position features behind them; neither touches the other's."""
    token_width, position_width = tokens.shape[1], positions.shape[1]
    return Embedding(
        tokens=jnp.pad(tokens, ((0, 0), (0, position_width))),
        positions=jnp.pad(positions, ((0, 0), (token_width, 0))),
    )


def added(
    tokens: Float[Array, "vocab features"], positions: Float[Array, "length features"]
) -> Embedding:
    """Token and position vectors of one width, added."""
    return Embedding(tokens, positions)


def project_days(
    projection: Projection,
    embedding: Embedding,
    one_hot: Float[Array, "length vocab"],
    days: Int[Array, " some"],
) -> Float[Array, "some outputs"]:
    """x W + b for the features x of some days.

    Since x is a sum, so is x W: the few rows of tokens and positions are projected once for a
    whole batch, and only their choice is made for each sequence. A product with one-hot rows has
    a far cheaper gradient on a CPU than a look-up.
    """
    of_tokens = embedding.tokens @ projection.weight
    of_positions = embedding.positions @ projection.weight + projection.bias[None, :]
    return one_hot[days] @ of_tokens + of_positions[days]
