"""What is trained on what, and how: from the losses to the whole experiment."""

# For scripts, those that the app writes among them.
from attnlab.training.changes import Change
from attnlab.training.evaluation import (
    Evaluation,
    EvaluationByPosition,
    evaluate,
    evaluate_by_position,
)
from attnlab.training.experiment import (
    Experiment,
    Setup,
    build_model,
    from_json,
    prepare,
    source_of,
    to_json,
)
from attnlab.training.limits import HOSTED, OPEN, Limits, check_limits
from attnlab.training.loop import Look, NotFiniteError, Progress, run, train
from attnlab.training.losses import LOSSES, sequence_loss
from attnlab.training.optimisers import OPTIMISERS, AbstractOptimiser, Adam, AdamW, Sgd
from attnlab.training.presets import PRESETS, Preset
from attnlab.training.schedule import Schedule, schedule
from attnlab.training.sources import AbstractSource, Example
from attnlab.training.steps import AMENDABLE, Losses, Training, TrainState, advance, initial_state

__all__ = [
    "AMENDABLE",
    "HOSTED",
    "LOSSES",
    "OPEN",
    "OPTIMISERS",
    "PRESETS",
    "AbstractOptimiser",
    "AbstractSource",
    "Adam",
    "AdamW",
    "Change",
    "Evaluation",
    "EvaluationByPosition",
    "Example",
    "Experiment",
    "Limits",
    "Look",
    "Losses",
    "NotFiniteError",
    "Preset",
    "Progress",
    "Schedule",
    "Setup",
    "Sgd",
    "TrainState",
    "Training",
    "advance",
    "evaluate",
    "evaluate_by_position",
    "from_json",
    "initial_state",
    "prepare",
    "run",
    "schedule",
    "sequence_loss",
    "source_of",
    "to_json",
    "train",
]
