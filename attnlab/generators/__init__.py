"""Processes that make sequences and know their own next-day probabilities exactly."""

from types import MappingProxyType

from attnlab.generators.base import (
    AbstractGenerator,
    continue_sequence,
    draw_days,
    log_predictives,
    sample,
)
from attnlab.generators.dotmod import DotMod
from attnlab.generators.markov import Markov
from attnlab.generators.ndays import NDays
from attnlab.generators.recall import Recall

GENERATORS = MappingProxyType({kind.name: kind for kind in (Markov, Recall, NDays, DotMod)})

__all__ = [
    "GENERATORS",
    "AbstractGenerator",
    "DotMod",
    "Markov",
    "NDays",
    "Recall",
    "continue_sequence",
    "draw_days",
    "log_predictives",
    "sample",
]
