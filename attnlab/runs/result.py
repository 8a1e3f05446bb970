"""The result of a run, whether it reached its end or not."""

import dataclasses
from types import MappingProxyType

import numpy as np

from attnlab.models import parameter_count
from attnlab.runs.history import Curve, Versions, loss_curve
from attnlab.runs.storage import Run
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.loop import LOWER_RATE

STATES = MappingProxyType(
    {
        "done": "all steps made",
        "interrupted": "not all steps made; it can be continued",
        "failed": "diverged, or stopped by an error",
        "refused": "not begun",
    }
)
# The measures of a run.
FIGURES = MappingProxyType(
    {
        "accuracy": "share of right predictions in the test",
        "nll": "test loss, in nats",
        "mean_nll": "mean test loss over all positions in the loss, in nats",
        "learned": "share of what can be learned",
        "exact_match": "share of targets written without a mistake",
    }
)

_NOTHING = Curve(np.zeros(0, dtype=int), np.zeros(0))


@dataclasses.dataclass(frozen=True)
class Result:
    """A run's results, or the `reason` why there are none or not all.

    `evaluation` is the test after `steps` steps, or None; `tests` are the earlier ones, and `curve`
    is the training loss. `seconds` is the training time. `run` is the run with its model, which can
    be continued; None if it was not kept, or is elsewhere. `exact_match` is the share of entirely
    correct test targets, None if not measured or not a task. `versions` made it; None means those
    of this process. `metrics` has pairs of step and value of every metric of the caller of
    `run_all`.
    """

    experiment: Experiment
    state: str
    evaluation: Evaluation | None = None
    steps: int = 0
    seconds: float = 0.0
    parameters: int = 0
    tests: tuple[tuple[int, Evaluation], ...] = ()
    curve: Curve = _NOTHING
    reason: str = ""
    run: Run | None = None
    exact_match: float | None = None
    versions: Versions | None = None
    metrics: dict[str, tuple[tuple[int, float], ...]] = dataclasses.field(default_factory=dict)

    @property
    def diverged(self) -> bool:
        """Return whether the run failed by its loss, as it would again, not technically."""
        return self.state == "failed" and LOWER_RATE in self.reason

    def __post_init__(self):
        if self.state not in STATES:
            raise ValueError(f"`state` is {self.state!r}. Choose one of {', '.join(STATES)}.")


def result_of(
    run: Run,
    state: str,
    evaluation: Evaluation | None,
    seconds: float,
    *,
    reason: str = "",
    exact_match: float | None = None,
    metrics: dict[str, tuple[tuple[int, float], ...]] | None = None,
) -> Result:
    """Return the result of a run, with the values that follow from it."""
    return Result(
        experiment=run.experiment,
        state=state,
        evaluation=evaluation,
        steps=int(run.state.step),
        seconds=seconds,
        parameters=parameter_count(run.state.model),
        tests=run.history.tests,
        curve=loss_curve(run.history),
        reason=reason,
        run=run,
        exact_match=exact_match,
        versions=run.history.versions,
        metrics=metrics or {},
    )
