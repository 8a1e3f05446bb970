"""Two layers of attention form induction heads; one layer cannot."""

import dataclasses
from types import MappingProxyType

import numpy as np

from attnlab.inspection.ablation import ablated_loss
from attnlab.inspection.head_scores import head_scores, role_of
from attnlab.inspection.strategies import expected_loss, references_of
from attnlab.known_results.entry import Check, KnownResult
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
_MATCH = "highest prefix match"
_WITHOUT = "loss without induction heads above counting"


def highest_prefix_match(model: AbstractModel, setup: Setup) -> float:
    """Return the highest share of attention on tokens after earlier occurrences, of any head."""
    scores = head_scores(_TWO.generator, model, np.asarray(setup.test))
    return max(score.prefix_match for score in scores)


def loss_without_induction_heads(model: AbstractModel, setup: Setup) -> float:
    """Return the loss after zeroing all induction heads, minus that of letter counts, in nats."""
    references = references_of(_TWO.generator, _TWO.length)
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


RESULT = KnownResult(
    name="induction-heads",
    title="Induction heads need two layers",
    claim="With two layers of attention, a head learns to attend to what followed the current "
    "token before. With one layer, none does.",
    source="Olsson et al. (2022), “In-context learning and induction heads”",
    settings=MappingProxyType({"two layers": _TWO, "one layer": _ONE}),
    checks=(
        Check(
            "With two layers, the best such head has at least half of its attention there.",
            "two layers",
            _MATCH,
            least=0.5,
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
    ),
    metrics=MappingProxyType(
        {_MATCH: highest_prefix_match, _WITHOUT: loss_without_induction_heads}
    ),
    differs="The paper trains language models on text. Here random letters repeat.",
    tuned_on=(0, 1, 2, 3, 4),
)
