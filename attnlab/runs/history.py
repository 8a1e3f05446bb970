"""What is kept of a run: losses of every step, tests and models at chosen steps."""

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attnlab.models import AbstractModel, parameter_count
from attnlab.runs.versions import Versions
from attnlab.training.changes import Change
from attnlab.training.evaluation import Evaluation
from attnlab.training.loop import Event, Progress

# Enough for a chart, few enough that the noise of single batches averages out in long runs.
MOST_POINTS = 250
# Of a history, however often its run goes on with other settings; so much fits into a run file.
MOST_CHANGES = 100
MOST_CHECKPOINTS = 256
MOST_TESTS = 1_024
# In all models that are kept together: 16 MB.
MOST_NUMBERS = 4_000_000


@dataclasses.dataclass(frozen=True)
class History:
    """A run so far. Frozen: `with_losses` and its kin give a new one that shares the old parts.

    `losses` are the batch means of -log p(final day), in nats, one a step, before its update;
    entry i belongs to the weights after i steps. `changes` are those of its settings on the way.
    `versions` made its last steps; None stands for those of this process.
    Refused: more than `MOST_TESTS`, `MOST_CHECKPOINTS` or `MOST_CHANGES`.
    """

    losses: Float[np.ndarray, " steps"]
    tests: tuple[tuple[int, Evaluation], ...] = ()
    checkpoints: tuple[tuple[int, AbstractModel], ...] = ()
    changes: tuple[Change, ...] = ()
    versions: Versions | None = None

    def __post_init__(self):
        if len(self.tests) > MOST_TESTS or len(self.checkpoints) > MOST_CHECKPOINTS:
            raise ValueError(
                f"A history has at most {MOST_TESTS:,} tests and {MOST_CHECKPOINTS} checkpoints. "
                "Leave some out, or add them by `with_test` and `with_checkpoint`."
            )
        if len(self.changes) > MOST_CHANGES:
            raise ValueError(
                f"A run goes on with other settings at most {MOST_CHANGES} times. "
                "Reset to change them again."
            )

    def with_losses(self, losses: Float[np.ndarray, " steps"]) -> "History":
        """Return the history after more steps, which this process made."""
        joined = np.concatenate([self.losses, losses])
        joined.setflags(write=False)
        return dataclasses.replace(self, losses=joined, versions=None)

    def after(self, event: Event) -> "History":
        """With what an event of `run` adds. A look that is no test of the schedule adds nothing.

        >>> from attnlab import Experiment, Run, Training, run, save_run
        >>> experiment = Experiment(training=Training(steps=20, train_size=100, test_size=100))
        >>> history = empty_history()
        >>> for event in run(experiment):
        ...     history = history.after(event)
        ...     if isinstance(event, Progress):
        ...         state = event.state
        >>> history.losses.size, history.tests[-1][0], history.checkpoints[-1][0]
        (20, 20, 20)
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     save_run(Run(experiment, state, history), Path(folder, "my.run"))
        """
        if isinstance(event, Progress):
            return self.with_losses(event.losses.nll)
        if isinstance(event, Change):
            return self.with_change(event)
        history = self.with_test(event.step, event.evaluation) if event.test else self
        return history.with_checkpoint(event.step, event.model) if event.checkpoint else history

    def until(self, step: int) -> "History":
        """Without what came after `step`."""
        return History(
            losses=self.losses[:step],
            tests=tuple(test for test in self.tests if test[0] <= step),
            checkpoints=tuple(kept for kept in self.checkpoints if kept[0] <= step),
            changes=tuple(change for change in self.changes if change.step <= step),
            versions=self.versions,
        )

    def with_change(self, change: Change) -> "History":
        """With one more change of the settings. Refused: more than `MOST_CHANGES`."""
        return dataclasses.replace(self, changes=(*self.changes, change))

    def with_test(self, step: int, evaluation: Evaluation) -> "History":
        """With a test at `step`, unless there is one.

        One too many takes the place of every second of those at whose step no model was kept.
        """
        if self.tests and self.tests[-1][0] == step:
            return self
        tests = self.tests
        if len(tests) == MOST_TESTS:
            kept = dict(self.checkpoints)
            dropped = {step for step, _ in [test for test in tests if test[0] not in kept][1::2]}
            tests = tuple(test for test in tests if test[0] not in dropped)
        return dataclasses.replace(self, tests=(*tests, (step, evaluation)))

    def with_checkpoint(self, step: int, model: AbstractModel) -> "History":
        """With the model of `step` kept, unless there is one.

        One too many, or more than `MOST_NUMBERS` in all of them, takes the place of every second
        of those before.
        """
        if self.checkpoints and self.checkpoints[-1][0] == step:
            return self
        numbers = (len(self.checkpoints) + 1) * parameter_count(model)
        full = len(self.checkpoints) == MOST_CHECKPOINTS or numbers > MOST_NUMBERS
        before = self.checkpoints[::2] if full else self.checkpoints
        return dataclasses.replace(self, checkpoints=(*before, (step, model)))


def empty_history() -> History:
    """Before the first step."""
    return History(losses=np.zeros(0, dtype=np.float32))


class Curve(NamedTuple):
    """A series over steps, at most `MOST_POINTS` long."""

    steps: Int[np.ndarray, " points"]
    values: Float[np.ndarray, " points"]


def loss_curve(history: History) -> Curve:
    """The training loss; long runs as means over equal spans, each at its last step."""
    losses = history.losses
    span = max(1, -(-losses.size // MOST_POINTS))
    whole = losses.size // span * span
    return Curve(
        steps=np.arange(span - 1, whole, span),
        values=losses[:whole].reshape(-1, span).mean(axis=1, dtype=np.float64),
    )
