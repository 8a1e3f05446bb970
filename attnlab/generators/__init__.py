"""Processes that make sequences and know their own next-token probabilities exactly."""

from types import MappingProxyType

from attnlab.generators.base import (
    AbstractGenerator,
    Shared,
    continue_sequence,
    draw_tokens,
    log_predictives,
    predictions_from,
    sample,
)
from attnlab.generators.custom import Custom
from attnlab.generators.dotmod import DotMod
from attnlab.generators.hmm import HiddenMarkov
from attnlab.generators.markov import Markov
from attnlab.generators.ndays import NDays
from attnlab.generators.recall import Recall
from attnlab.generators.rule_table import Outline, RuleTable

GENERATORS = MappingProxyType(
    {kind.name: kind for kind in (Markov, Recall, NDays, DotMod, HiddenMarkov, Custom)}
)

__all__ = [
    "GENERATORS",
    "AbstractGenerator",
    "Custom",
    "DotMod",
    "HiddenMarkov",
    "Markov",
    "NDays",
    "Outline",
    "Recall",
    "RuleTable",
    "Shared",
    "continue_sequence",
    "draw_tokens",
    "log_predictives",
    "predictions_from",
    "sample",
]
