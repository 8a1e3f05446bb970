"""What a model sees of a token: its token and its position."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from attnlab.models.initialisation import Projection, joined, parted
from attnlab.positions import AbstractPosition, position_table


class Embedding(NamedTuple):
    """The features at a position are the sum of its token's row and its position's row."""

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


def embedding_of(
    tokens: Float[Array, "vocab d_model"], positions: Float[Array, "length features"]
) -> Embedding:
    """Token and position vectors: added where they have one width, else side by side."""
    if tokens.shape[1] == positions.shape[1]:
        return Embedding(tokens, positions)
    return side_by_side(tokens, positions)


def width_in_words(
    tokens: str, position: AbstractPosition, d_model: int, *, side_by_side: bool = False
) -> str:
    """The width of an embedding of that many features a token, as a formula.

    By `embedding_of`, or by `side_by_side`.
    """
    features = _features(position, d_model)
    if not features or (features == d_model and not side_by_side):
        return tokens
    return f"({tokens} + {'d_model' if features == d_model else features})"


def positions_in_words(position: AbstractPosition) -> Mapping[str, str]:
    """The formula of the parameters that positions have of their own, if they are trained."""
    trained = getattr(position, "trainable", False)
    return {"positions": "length × d_model"} if trained else {}


def _features(position: AbstractPosition, d_model: int) -> int:
    table = partial(position_table, position, length=1, width=d_model)
    return jax.eval_shape(lambda: table(key=jr.key(0))).shape[1]


def project(
    projections: tuple[Projection, ...],
    embedding: Embedding,
    one_hot: Float[Array, "length vocab"],
) -> tuple[Float[Array, "length _"], ...]:
    """x W + b of every projection, for the features x of the tokens of `embedding.positions`.

    Since x is a sum, so is x W: the few rows of tokens and positions are projected once for a
    whole batch, and only their choice is made for each sequence. A product with one-hot rows has
    a far cheaper gradient on a CPU than a look-up, and projections side by side cost hardly more
    than one of them.
    """
    weight, bias = joined(projections)
    of_tokens = embedding.tokens @ weight
    of_positions = embedding.positions @ weight + bias[None, :]
    return parted(one_hot @ of_tokens + of_positions, projections)
