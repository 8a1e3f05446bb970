"""Predictions in context go through phases: uniform, counts of tokens, counts of pairs."""

import dataclasses
import functools
import math
from types import MappingProxyType
from typing import cast

import numpy as np

from attnlab.generators import InContextMarkov
from attnlab.inspection import References, probs_by_query, references_of
from attnlab.inspection.belief_gap import divergence
from attnlab.known_results.entry import Check, KnownResult
from attnlab.models import AbstractModel, TransformerOptions
from attnlab.training.experiment import Setup
from attnlab.training.presets import PRESETS
from attnlab.training.sources import FreshSource

_START = PRESETS["icl-markov"].experiment
_ONE_LAYER = TransformerOptions(layers=1, heads=1, d_attn=16, d_model=16, mlp_width=0)
_TWO, _ONE, _SHIFTED = "two layers", "one layer", "two layers, doubly stochastic tables"
_EVERY, _SEEN = 50, 24
_LATE, _AT_UNIGRAM = "loss above the floor after 24 tokens", "steps nearest to the unigram"
_references = functools.cache(references_of)


def _compared(model: AbstractModel, setup: Setup) -> tuple[References, np.ndarray]:
    """Return the references, and KL(reference ‖ model) by reference, sequence and query."""
    process = cast(FreshSource, setup.source).generator
    references = _references(process, setup.test.shape[1] - 1)
    probs = probs_by_query(model, references.sequences[:, :-1])
    return references, np.stack([divergence(each, probs) for each in references.probs])


def late_excess(model: AbstractModel, setup: Setup) -> float:
    """Return the expected loss after 24 tokens minus that of the exact prediction."""
    return _compared(model, setup)[1][-1][:, _SEEN - 1].mean()


def is_at_unigram(model: AbstractModel, setup: Setup) -> float:
    """Return 1 if the in-context unigram is the reference nearest to the model, else 0."""
    references, each = _compared(model, setup)
    return references.names[each.mean(axis=(1, 2)).argmin()] == "in-context unigram"


def _steps(values: list[float]) -> float:
    return _EVERY * sum(values)


RESULT = KnownResult(
    name="markov-phases",
    title="Phases of learning in context",
    claim="Each sequence is a Markov chain with its own table. Two layers of attention first learn "
    "token counts (unigram), later transitions (bigram); one layer learns only token counts.",
    source="Edelman et al. (2024), “The evolution of statistical induction heads: in-context "
    "learning Markov chains”",
    settings=MappingProxyType(
        {
            _TWO: _START,
            _ONE: dataclasses.replace(_START, model=_ONE_LAYER),
            _SHIFTED: dataclasses.replace(
                _START, generator=InContextMarkov(prior="doubly-stochastic")
            ),
        }
    ),
    checks=(
        Check(
            "Two layers are nearest to the unigram for at least 100 steps.",
            _TWO,
            _AT_UNIGRAM,
            least=100,
        ),
        Check(
            "After 24 tokens, the loss of two layers is within 0.01 nats of the bigram's.",
            _TWO,
            _LATE,
            most=0.01,
        ),
        Check(
            "One layer is nearest to the unigram for at least 1,500 of 2,000 steps.",
            _ONE,
            _AT_UNIGRAM,
            least=1_500,
        ),
        Check(
            "If token counts say nothing (doubly stochastic tables), two layers are nearest to "
            "the unigram for fewer steps.",
            _SHIFTED,
            _AT_UNIGRAM,
            most=-_EVERY,
            minus=_TWO,
        ),
    ),
    metrics=MappingProxyType({_LATE: late_excess, _AT_UNIGRAM: is_at_unigram}),
    checkpoints=tuple(range(0, _START.training.steps, _EVERY)),
    over_training=MappingProxyType({_AT_UNIGRAM: _steps}),
    bounds=MappingProxyType({_LATE: (0.0, math.inf), _AT_UNIGRAM: (0.0, _START.training.steps)}),
    predicted="after 24 tokens the unigram has a loss of 0.5814 nats, the bigram 0.5144, which is "
    "the floor. With ever longer contexts, the floor falls to the mean entropy rate of the tables, "
    "0.481 nats for 2 symbols. After 64 tokens it is 0.495.",
    differs="The paper has sequences of 100 tokens and positions relative to the query. Here they "
    "have 64 tokens and learned positions. Models are compared every 50 steps.",
    tuned_on=(0,),
)
