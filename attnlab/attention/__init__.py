"""Attention of one head: scores, masks, scales, whole or in chunks."""

from attnlab.attention.head import MASKS, SCALES, Attended, attend, masked_softmax, scale_factor

__all__ = [
    "MASKS",
    "SCALES",
    "Attended",
    "attend",
    "masked_softmax",
    "scale_factor",
]
