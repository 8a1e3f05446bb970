"""One cell of an attention pattern, step by step."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from attnlab.attention.head import attend
from attnlab.models import Attention


class CellArithmetic(NamedTuple):
    """How the share that a query gives to a key comes about.

    score = query · key; scaled = scale · score + bias; the pattern is the softmax of the scaled
    scores of the query's whole row, over the admitted keys.
    """

    query: Float[np.ndarray, " d_attn"]
    key: Float[np.ndarray, " d_attn"]
    score: float
    scale: float
    bias: float
    scaled: Float[np.ndarray, " length"]
    admitted: Bool[np.ndarray, " length"]
    pattern: Float[np.ndarray, " length"]


def cell_arithmetic(
    model: Attention, tokens: Int[np.ndarray, " length"], *, query: int, key: int
) -> CellArithmetic:
    """The numbers of the cell at positions `query` and `key`, from the functions that train."""
    parts = model.parts(jnp.asarray(tokens), jnp.array([query]))
    pattern = attend(
        parts.query, parts.key, parts.value, mask=parts.mask, scale=parts.scale, bias=parts.bias
    ).pattern[0]
    scores = parts.key @ parts.query[0]
    return CellArithmetic(
        query=np.asarray(parts.query[0]),
        key=np.asarray(parts.key[key]),
        score=float(scores[key]),
        scale=parts.scale,
        bias=float(parts.bias[0, key]),
        scaled=np.asarray(parts.scale * scores + parts.bias[0]),
        admitted=np.asarray(parts.mask[0]),
        pattern=np.asarray(pattern),
    )
