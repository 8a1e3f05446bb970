"""Inspecting a trained model: its predictions, what they depend on, and their quality."""

from attnlab.inspection.ablation import (
    REPLACEMENTS,
    Ablation,
    Effect,
    ablations,
    can_align,
    effect_of,
    removals,
    replacements,
)
from attnlab.inspection.predictions import (
    Comparison,
    Transitions,
    compare,
    confusion,
    depends_on,
    final_probs,
    probs_by_query,
    transitions,
)
from attnlab.inspection.quality import (
    Calibration,
    LikelihoodRatioTest,
    Quality,
    Surprise,
    calibration,
    likelihood_ratio_test,
    quality,
    surprise,
)
from attnlab.inspection.targets import SourceInfluence, source_influence
from attnlab.inspection.what_happened import WhatHappened, in_words, what_happened

__all__ = [
    "REPLACEMENTS",
    "Ablation",
    "Calibration",
    "Comparison",
    "Effect",
    "LikelihoodRatioTest",
    "Quality",
    "SourceInfluence",
    "Surprise",
    "Transitions",
    "WhatHappened",
    "ablations",
    "calibration",
    "can_align",
    "compare",
    "confusion",
    "depends_on",
    "effect_of",
    "final_probs",
    "in_words",
    "likelihood_ratio_test",
    "probs_by_query",
    "quality",
    "removals",
    "replacements",
    "source_influence",
    "surprise",
    "transitions",
    "what_happened",
]
