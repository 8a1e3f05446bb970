"""Two layers of attention form induction heads; one layer cannot."""

import dataclasses
import functools
import math
from types import MappingProxyType

import numpy as np

from attnlab.inspection import probs_by_query
from attnlab.inspection.ablation import ablated_loss
from attnlab.inspection.head_scores import head_scores, role_of
from attnlab.inspection.strategies import expected_loss, references_of
from attnlab.known_results.entry import SHARE, Check, KnownResult
from attnlab.models import AbstractModel, TransformerOptions
from attnlab.positions import Rotary
from attnlab.training.experiment import Setup
from attnlab.training.presets import PRESETS

_TWO = PRESETS["induction"].experiment
_ONE = dataclasses.replace(
    _TWO,
    model=TransformerOptions(
        layers=1, heads=2, d_attn=16, d_model=32, mlp_width=0, position=Rotary()
    ),
)
_MATCH, _HALF = "highest prefix match", 0.5
_WITHOUT = "loss without induction heads − counting loss"
_EVERY, _APART = 50, "steps between the drop of the loss and induction heads"
_references = functools.cache(references_of)


def highest_prefix_match(model: AbstractModel, setup: Setup) -> float:
    """Return the highest share of attention on tokens after earlier occurrences, of any head."""
    scores = head_scores(_TWO.generator, model, np.asarray(setup.test))
    return max(score.prefix_match for score in scores)


def loss_without_induction_heads(model: AbstractModel, setup: Setup) -> float:
    """Return the loss after zeroing all induction heads, minus that of letter counts, in nats."""
    references = _references(_TWO.generator, _TWO.length)
    now, before = (
        head_scores(_TWO.generator, each, references.sequences)
        for each in (model, setup.state.model)
    )
    heads = [
        (score.layer - 1, score.head - 1)
        for score, untrained in zip(now, before, strict=True)
        if role_of(score, untrained) == "induction"
    ]
    counts = references.probs[references.names.index("in-context unigram")]
    return ablated_loss(references, model, heads).mean - expected_loss(references, counts).mean


def has_neither_or_both(model: AbstractModel, setup: Setup) -> float:
    """Return 1 if prefix match and loss are both past their midpoint or both before it, else 0.

    The midpoint is 0.5 for the prefix match, and halfway from the untrained loss to the floor.
    """
    references = _references(_TWO.generator, _TWO.length)
    visible = references.sequences[:, :-1]
    first, now, floor = (
        expected_loss(references, probs).mean
        for probs in (
            probs_by_query(setup.state.model, visible),
            probs_by_query(model, visible),
            references.probs[-1],
        )
    )
    is_formed, is_low = highest_prefix_match(model, setup) >= _HALF, now <= (first + floor) / 2
    return float(is_formed == is_low)


def _steps_apart(values: list[float]) -> float:
    return _EVERY * (len(values) - sum(values))


RESULT = KnownResult(
    name="induction-heads",
    title="Induction heads need two layers",
    claim="With two layers of attention, a head learns to attend to the token after an earlier "
    "copy of the current one. With one layer, none does.",
    source="Olsson et al. (2022), “In-context learning and induction heads”",
    settings=MappingProxyType({"two layers": _TWO, "one layer": _ONE}),
    checks=(
        Check(
            "With two layers, the highest prefix match is at least 0.5.",
            "two layers",
            _MATCH,
            least=0.5,
            most=1.0,
        ),
        Check(
            "With one layer, no head has more than half of its attention there.",
            "one layer",
            _MATCH,
            most=0.5,
        ),
        Check(
            "The accuracy of two layers is at least 0.3 above that of one.",
            "two layers",
            "accuracy",
            least=0.3,
            minus="one layer",
        ),
        Check(
            "Without its induction heads, the model is no better than counts of the letters.",
            "two layers",
            _WITHOUT,
            least=0.0,
        ),
        Check(
            "Prefix match passes 0.5 within 100 steps of the loss passing half of its drop.",
            "two layers",
            _APART,
            most=100.0,
        ),
    ),
    metrics=MappingProxyType(
        {
            _MATCH: highest_prefix_match,
            _WITHOUT: loss_without_induction_heads,
            _APART: has_neither_or_both,
        }
    ),
    checkpoints=tuple(range(0, _TWO.training.steps, _EVERY)),
    over_training=MappingProxyType({_APART: _steps_apart}),
    bounds=MappingProxyType({_MATCH: SHARE, _APART: (0.0, math.inf)}),
    differs="The paper trains language models on text. Here random letters repeat.",
    tuned_on=(0, 1, 2, 3, 4),
)
