"""Attention of one head: scores, masks, scales, whole or in chunks."""

from attnlab.attention.chunked import chunked_attend
from attnlab.attention.head import MASKS, SCALES, Attended, attend, masked_softmax, scale_factor
from attnlab.attention.scores import (
    SCORES,
    AbstractScore,
    Additive,
    DotProduct,
    GaussianKernel,
    ScaledDotProduct,
)

__all__ = [
    "MASKS",
    "SCALES",
    "SCORES",
    "AbstractScore",
    "Additive",
    "Attended",
    "DotProduct",
    "GaussianKernel",
    "ScaledDotProduct",
    "attend",
    "chunked_attend",
    "masked_softmax",
    "scale_factor",
]
