"""Positional encodings: how a model that sees a set of tokens is told their order.

Every encoding is a frozen dataclass in `POSITIONS` and of one of two kinds. An input encoding
gives each position a vector of features; a score encoding changes how queries meet keys.
Position 0 is the user's day 1.
"""

from types import MappingProxyType

from attnlab.positions.alibi import Alibi
from attnlab.positions.base import (
    AbstractInputPosition,
    AbstractPosition,
    AbstractScorePosition,
    position_table,
)
from attnlab.positions.blog import BlogDescribed, BlogPublished
from attnlab.positions.learned import Learned
from attnlab.positions.none import NoPosition
from attnlab.positions.rotary import Rotary
from attnlab.positions.scalar import Scalar
from attnlab.positions.sinusoidal import Sinusoidal

POSITIONS = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            Learned,
            NoPosition,
            Scalar,
            Sinusoidal,
            BlogDescribed,
            BlogPublished,
            Rotary,
            Alibi,
        )
    }
)

__all__ = [
    "POSITIONS",
    "AbstractInputPosition",
    "AbstractPosition",
    "AbstractScorePosition",
    "Alibi",
    "BlogDescribed",
    "BlogPublished",
    "Learned",
    "NoPosition",
    "Rotary",
    "Scalar",
    "Sinusoidal",
    "position_table",
]
