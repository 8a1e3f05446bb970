"""What is trained on what, and how: from the losses to the whole experiment."""

from attnlab.training.changes import Change
from attnlab.training.experiment import (
    Experiment,
    Progress,
    Setup,
    build_model,
    from_json,
    prepare,
    source_of,
    to_json,
    train,
)
from attnlab.training.limits import HOSTED, OPEN, Limits, check_limits
from attnlab.training.losses import LOSSES, sequence_loss
from attnlab.training.presets import PRESETS, Preset
from attnlab.training.sources import AbstractSource
from attnlab.training.steps import (
    AMENDABLE,
    Evaluation,
    Losses,
    Training,
    TrainState,
    advance,
    evaluate,
    initial_state,
)

__all__ = [
    "AMENDABLE",
    "HOSTED",
    "LOSSES",
    "OPEN",
    "PRESETS",
    "AbstractSource",
    "Change",
    "Evaluation",
    "Experiment",
    "Limits",
    "Losses",
    "Preset",
    "Progress",
    "Setup",
    "TrainState",
    "Training",
    "advance",
    "build_model",
    "check_limits",
    "evaluate",
    "from_json",
    "initial_state",
    "prepare",
    "sequence_loss",
    "source_of",
    "to_json",
    "train",
]
