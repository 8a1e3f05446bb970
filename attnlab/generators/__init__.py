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
from attnlab.generators.cards import Cards
from attnlab.generators.custom import Custom
from attnlab.generators.dotmod import DotMod
from attnlab.generators.hmm import HiddenMarkov
from attnlab.generators.letters import Copy, Reverse, Shift, Sort, Translate
from attnlab.generators.markov import Markov
from attnlab.generators.ndays import NDays
from attnlab.generators.recall import Recall
from attnlab.generators.tasks import (
    AbstractTask,
    is_source,
    read_source,
    true_dependence,
    write_source,
)
from attnlab.generators.vocabulary import Outline, RuleTable

GENERATORS = MappingProxyType(
    {kind.name: kind for kind in (Markov, Recall, NDays, DotMod, HiddenMarkov, Custom)}
)
TASKS = MappingProxyType(
    {kind.name: kind for kind in (Cards, Copy, Reverse, Shift, Sort, Translate)}
)
# All that can make the sequences of an experiment.
PROCESSES = MappingProxyType({**GENERATORS, **TASKS})

__all__ = [
    "GENERATORS",
    "PROCESSES",
    "TASKS",
    "AbstractGenerator",
    "AbstractTask",
    "Cards",
    "Copy",
    "Custom",
    "DotMod",
    "HiddenMarkov",
    "Markov",
    "NDays",
    "Outline",
    "Recall",
    "Reverse",
    "RuleTable",
    "Shared",
    "Shift",
    "Sort",
    "Translate",
    "continue_sequence",
    "draw_tokens",
    "is_source",
    "log_predictives",
    "predictions_from",
    "read_source",
    "sample",
    "true_dependence",
    "write_source",
]
