"""Training: data, losses, optimisers, evaluation, and the experiment that combines them."""

# Imported by scripts, including those that the app writes.
from attnlab.training.changes import Change
from attnlab.training.evaluation import Evaluation, evaluate
from attnlab.training.optimisers import Adam, AdamW, Constant, InverseSquareRoot, Sgd, WarmUpCosine
from attnlab.training.steps import Training, advance

__all__ = [
    "Adam",
    "AdamW",
    "Change",
    "Constant",
    "Evaluation",
    "InverseSquareRoot",
    "Sgd",
    "Training",
    "WarmUpCosine",
    "advance",
    "evaluate",
]
