"""The record of a run: losses of every step, tests and models at chosen steps, and versions."""

import csv
import dataclasses
import io
from typing import Any, NamedTuple

import jax
import jaxlib
import numpy as np
from jaxtyping import Float, Int

from attnlab import __version__
from attnlab.configuration.options import present, quoted
from attnlab.models import AbstractModel, parameter_count
from attnlab.training.changes import Change
from attnlab.training.evaluation import Evaluation
from attnlab.training.loop import Event, Progress

_MOST_CHARACTERS = 50


class Versions(NamedTuple):
    """The software that made a run. A part is empty if it was not recorded.

    `platform` is that of JAX's arrays: "cpu", "gpu" or "tpu".
    """

    attnlab: str = ""
    jax: str = ""
    jaxlib: str = ""
    platform: str = ""

    def agree_with(self, others: "Versions") -> bool:
        """Return whether both give the same numbers, as far as is known.

        Libraries did not always record `jaxlib` and `platform`; missing ones are not compared.
        """
        rest = zip(self[2:], others[2:], strict=True)
        return self[:2] == others[:2] and all(own in ("", other) for own, other in rest)


def current_versions() -> Versions:
    """Return the versions of this process."""
    return Versions(__version__, jax.__version__, jaxlib.version.__version__, jax.default_backend())


def versions_of(parts: Any) -> Versions:
    """Return the versions in untrusted values; raise `ValueError` unless they are short texts."""
    if not isinstance(parts, list | tuple) or len(parts) != len(Versions._fields):
        raise ValueError(f"Its versions are {quoted(parts)}, which are not four texts.")
    for part in parts:
        is_plain = isinstance(part, str) and part.isascii() and part.isprintable()
        if not is_plain or len(part) > _MOST_CHARACTERS:
            problem = f"not at most {_MOST_CHARACTERS} letters of ASCII"
            raise ValueError(f"It has the version {quoted(part)}, which is {problem}.")
    return Versions._make(parts)


# Enough for a chart, few enough that the noise of single batches averages out in long runs.
MOST_POINTS = 250
# Maximum for a history, however often its settings change; this fits into a run file.
MOST_CHANGES = 100
MOST_CHECKPOINTS = 256
MOST_TESTS = 1_024
# Maximum for all kept models together: 16 MB.
MOST_NUMBERS = 4_000_000


@dataclasses.dataclass(frozen=True)
class History:
    """A run so far. Frozen: `with_losses` and similar methods return a new one.

    `losses` are the training losses of the batches, in nats, one per step, before its update;
    entry i belongs to the weights after i steps. `changes` are the changes of its settings.
    `versions` made its last steps; None means those of this process. Raises an error for more than
    `MOST_TESTS`, `MOST_CHECKPOINTS` or `MOST_CHANGES`.
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
                f"A run can change its settings at most {MOST_CHANGES} times. Reset to change "
                "them again."
            )

    def with_losses(self, losses: Float[np.ndarray, " steps"]) -> "History":
        """Return the history after more steps, made by this process."""
        joined = np.concatenate([self.losses, losses])
        joined.setflags(write=False)
        return dataclasses.replace(self, losses=joined, versions=None)

    def after(self, event: Event) -> "History":
        """Return the history after an event of `run`; an unplanned evaluation adds nothing."""
        if isinstance(event, Progress):
            return self.with_losses(event.losses.nll)
        if isinstance(event, Change):
            return dataclasses.replace(self, changes=(*self.changes, event))
        history = self.with_test(event.step, event.evaluation) if event.test else self
        if not event.checkpoint:
            return history
        return history.with_checkpoint(event.step, present(event.model))

    def until(self, step: int) -> "History":
        """Return the history without what came after `step`."""
        return History(
            losses=self.losses[:step],
            tests=tuple(test for test in self.tests if test[0] <= step),
            checkpoints=tuple(kept for kept in self.checkpoints if kept[0] <= step),
            changes=tuple(change for change in self.changes if change.step <= step),
            versions=self.versions,
        )

    def with_test(self, step: int, evaluation: Evaluation) -> "History":
        """Return the history with a test at `step`, unless there is one.

        If there are too many, every second one without a model is dropped.
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
        """Return the history with the model of `step`, unless there is one.

        If there are too many, or more than `MOST_NUMBERS` in all of them, every second earlier one
        is dropped.
        """
        if self.checkpoints and self.checkpoints[-1][0] == step:
            return self
        numbers = (len(self.checkpoints) + 1) * parameter_count(model)
        full = len(self.checkpoints) == MOST_CHECKPOINTS or numbers > MOST_NUMBERS
        before = self.checkpoints[::2] if full else self.checkpoints
        return dataclasses.replace(self, checkpoints=(*before, (step, model)))


def empty_history() -> History:
    """Return the history before the first step."""
    return History(losses=np.zeros(0, dtype=np.float32))


class Curve(NamedTuple):
    """A series over steps, at most `MOST_POINTS` long."""

    steps: Int[np.ndarray, " points"]
    values: Float[np.ndarray, " points"]


def loss_curve(history: History) -> Curve:
    """Return the training loss; long runs as means over equal spans, each at its last step."""
    losses = history.losses
    span = max(1, -(-losses.size // MOST_POINTS))
    whole = losses.size // span * span
    return Curve(
        steps=np.arange(span - 1, whole, span),
        values=losses[:whole].reshape(-1, span).mean(axis=1, dtype=np.float64),
    )


COLUMNS = (
    "step",
    "training_loss_nats",
    "test_loss_nats",
    "test_loss_standard_error_nats",
    "test_accuracy_share",
    "test_accuracy_standard_error_share",
    "mean_test_loss_nats",
    "mean_test_loss_standard_error_nats",
)


def to_csv(history: History) -> str:
    """Return all tests and training losses of a run as CSV with `COLUMNS`, ordered by step.

    `step`: updates made. `training_loss_nats`: mean of -log p(final day) over the batch of the next
    update; for runs longer than `MOST_POINTS` steps, means over equal spans, each at its last step.
    `test_loss_nats` and `test_accuracy_share`: on the test set at that step, the accuracy from 0 to
    1, each followed by its standard error. `mean_test_loss_nats`: the mean over all positions in
    the loss, if it was measured. Cells without a measurement are empty. Numbers have all their
    digits: they read back as the same floats.
    """
    curve = loss_curve(history)
    training = dict(zip(curve.steps.tolist(), curve.values.tolist(), strict=True))
    tests = dict(history.tests)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for step in sorted(training.keys() | tests.keys()):
        test = tests.get(step)
        figures = [""] * 4 if test is None else map(float, test[:4])
        means = ["", ""] if test is None or test.by_position is None else test.by_position[3:]
        writer.writerow([step, training.get(step, ""), *figures, *means])
    return text.getvalue()
