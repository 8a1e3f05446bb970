"""Processes that generate sequences and know their own next-token probabilities exactly."""

from attnlab.configuration.registry import Registry
from attnlab.generators.base import (
    AbstractGenerator,
    Draw,
    Shared,
    beliefs,
    continue_sequence,
    draw_many,
    draw_tokens,
    log_predictives,
    loss_mask_of,
    predicted_count,
    predictions_from,
    sample,
)
from attnlab.generators.bijection import Bijection
from attnlab.generators.cards import Cards
from attnlab.generators.causal_tree import CausalTree
from attnlab.generators.custom import Custom
from attnlab.generators.dotmod import DotMod
from attnlab.generators.hidden_chain import (
    AbstractHiddenChain,
    HiddenChain,
    as_hidden_chain,
    noisy,
    product,
)
from attnlab.generators.hmm import HiddenMarkov
from attnlab.generators.in_context_markov import InContextMarkov
from attnlab.generators.induction import Induction
from attnlab.generators.letters import Copy, Reverse, Shift, Sort, Translate
from attnlab.generators.markov import Markov
from attnlab.generators.modular_addition import ModularAddition
from attnlab.generators.named_chains import (
    NAMED,
    Even,
    GoldenMean,
    LeakyRandomRandomXor,
    Mess3,
    Parentheses,
    RandomRandomXor,
    SimpleNonunifilar,
    ZeroOneRandom,
)
from attnlab.generators.ndays import NDays
from attnlab.generators.product_chain import ProductChain
from attnlab.generators.recall import Recall
from attnlab.generators.recall_pairs import RecallPairs
from attnlab.generators.tasks import (
    AbstractTask,
    as_task,
    is_source,
    is_task,
    read_source,
    true_dependence,
    write_source,
)
from attnlab.generators.vocabulary import Outline, RuleTable

# Hidden Markov processes of the literature, and their products.
CHAINS = Registry((*NAMED, ProductChain))
# Processes in which each sequence draws its own rule.
IN_CONTEXT = Registry((InContextMarkov, Induction, RecallPairs, Bijection, CausalTree))
GENERATORS = Registry(
    (
        *(Markov, Recall, NDays, DotMod, HiddenMarkov, HiddenChain),
        *CHAINS.values(),
        *IN_CONTEXT.values(),
        ModularAddition,
        Custom,
    )
)
TASKS = Registry((Cards, Copy, Reverse, Shift, Sort, Translate))
# Every process that can generate the sequences of an experiment.
PROCESSES = Registry(parts=(GENERATORS, TASKS))

__all__ = [
    "CHAINS",
    "GENERATORS",
    "IN_CONTEXT",
    "PROCESSES",
    "TASKS",
    "AbstractGenerator",
    "AbstractHiddenChain",
    "AbstractTask",
    "Bijection",
    "Cards",
    "CausalTree",
    "Copy",
    "Custom",
    "DotMod",
    "Draw",
    "Even",
    "GoldenMean",
    "HiddenChain",
    "HiddenMarkov",
    "InContextMarkov",
    "Induction",
    "LeakyRandomRandomXor",
    "Markov",
    "Mess3",
    "ModularAddition",
    "NDays",
    "Outline",
    "Parentheses",
    "ProductChain",
    "RandomRandomXor",
    "Recall",
    "RecallPairs",
    "Reverse",
    "RuleTable",
    "Shared",
    "Shift",
    "SimpleNonunifilar",
    "Sort",
    "Translate",
    "ZeroOneRandom",
    "as_hidden_chain",
    "as_task",
    "beliefs",
    "continue_sequence",
    "draw_many",
    "draw_tokens",
    "is_source",
    "is_task",
    "log_predictives",
    "loss_mask_of",
    "noisy",
    "predicted_count",
    "predictions_from",
    "product",
    "read_source",
    "sample",
    "true_dependence",
    "write_source",
]
