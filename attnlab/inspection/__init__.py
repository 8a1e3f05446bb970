"""A trained model looked into: what it predicts, what that depends on, how good it is."""

from attnlab.inspection.comparison import Comparison, compare, informative_days
from attnlab.inspection.predictions import (
    Calibration,
    calibration,
    confusion,
    final_probs,
    probs_by_query,
)
from attnlab.inspection.quality import Quality, quality
from attnlab.inspection.surprise import Surprise, surprise
from attnlab.inspection.transitions import TransitionTest, transition_test

__all__ = [
    "Calibration",
    "Comparison",
    "Quality",
    "Surprise",
    "TransitionTest",
    "calibration",
    "compare",
    "confusion",
    "final_probs",
    "informative_days",
    "probs_by_query",
    "quality",
    "surprise",
    "transition_test",
]
