"""What a live run shows of itself at one moment."""

import dataclasses
from types import MappingProxyType

import numpy as np
from jaxtyping import Int

from attnlab.runs.history import History
from attnlab.training.experiment import Experiment
from attnlab.training.loop import Look

STATES = MappingProxyType(
    {
        "idle": "not started",
        "compiling": "data are drawn and the program is compiled",
        "running": "training",
        "paused": "waiting, everything kept",
        "done": "all steps made",
        "failed": "diverged, or stopped by an error",
    }
)


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """A live run at one moment. Nothing in it changes any more.

    `latest`, `probes` and `parameters` are None, None and 0 until the starting weights are tested;
    `steps_per_second` counts all that a step costs, tests included, and is 0 until
    it is known; `seconds` is the time spent so since the run was begun or loaded. `message`
    says what is being prepared, or why the run failed. `in_queue` is its place, from 1, among the
    runs that wait for their turn, and 0 for one that does not.
    """

    experiment: Experiment
    state: str
    step: int
    history: History
    latest: Look | None
    probes: Int[np.ndarray, "probes length"] | None
    parameters: int
    steps_per_second: float
    seconds: float
    message: str
    in_queue: int = 0

    @property
    def active(self) -> bool:
        """Whether it changes by itself."""
        return self.state in ("compiling", "running")

    @property
    def preparing(self) -> bool:
        """Whether its first figures come by themselves."""
        return self.active and self.latest is None

    @property
    def seconds_left(self) -> float | None:
        """How long the remaining steps take at the present speed, if that is known."""
        left = self.experiment.training.steps - self.step
        return left / self.steps_per_second if self.steps_per_second else None
