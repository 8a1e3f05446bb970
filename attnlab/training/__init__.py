"""What is trained on what, and how: from the losses to the whole experiment."""

# For scripts, those that the app writes among them.
from attnlab.training.changes import Change
from attnlab.training.steps import Evaluation, Training, advance, evaluate

__all__ = [
    "Change",
    "Evaluation",
    "Training",
    "advance",
    "evaluate",
]
