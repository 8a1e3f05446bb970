"""A trained model looked into: what it predicts, what that depends on, how good it is."""

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
from attnlab.inspection.calibration import Calibration, calibration
from attnlab.inspection.comparison import Comparison, compare, depends_on
from attnlab.inspection.likelihood_ratio import LikelihoodRatioTest, likelihood_ratio_test
from attnlab.inspection.predictions import confusion, final_probs, probs_by_query
from attnlab.inspection.quality import Quality, quality
from attnlab.inspection.surprise import Surprise, surprise
from attnlab.inspection.tasks.source_influence import SourceInfluence, source_influence
from attnlab.inspection.transitions import Transitions, transitions
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
