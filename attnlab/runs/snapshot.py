"""The visible state of a live run at one moment."""

import dataclasses
from types import MappingProxyType

import numpy as np
from jaxtyping import Int

from attnlab.runs.history import History
from attnlab.training.experiment import Experiment
from attnlab.training.loop import EvaluationEvent

STATES = MappingProxyType(
    {
        "idle": "not started",
        "compiling": "compiling the training steps (3 of 3)",
        "running": "training",
        "paused": "paused, and everything is kept",
        "done": "all steps completed",
        "failed": "diverged, or stopped by an error",
    }
)


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """A live run at one moment. Immutable.

    `latest`, `probes` and `parameters` are None, None and 0 until the initial weights are tested.
    `steps_per_second` includes all costs of a step, such as tests, and is 0 until it is known;
    `seconds` is the total training time, including these costs. `message` says what is being
    prepared, or why the run failed. `in_queue` is the run's position among the waiting runs, from
    1, or 0 if it is not waiting. `has_twin` is whether it waits for an equal run.
    """

    experiment: Experiment
    state: str
    step: int
    history: History
    latest: EvaluationEvent | None
    probes: Int[np.ndarray, "probes length"] | None
    parameters: int
    steps_per_second: float
    seconds: float
    message: str
    in_queue: int = 0
    has_twin: bool = False

    @property
    def active(self) -> bool:
        """Whether the run changes without user action."""
        return self.state in ("compiling", "running")

    @property
    def preparing(self) -> bool:
        """Whether the first results are being computed."""
        return self.active and self.latest is None

    @property
    def seconds_left(self) -> float | None:
        """The time that the remaining steps take at the current speed, if known."""
        left = self.experiment.training.steps - self.step
        return left / self.steps_per_second if self.steps_per_second else None
