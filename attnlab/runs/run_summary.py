"""A run in numbers, whether it reached its end or not."""

import dataclasses
from datetime import UTC, datetime, tzinfo
from types import MappingProxyType

import numpy as np

from attnlab.configuration.number_text import show_estimate
from attnlab.configuration.options import OptionError, check_visible
from attnlab.configuration.visible_text import normal
from attnlab.models import parameter_count
from attnlab.runs.history import Curve, Versions, loss_curve
from attnlab.runs.run import Run
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.loop import LOWER_RATE

STATES = MappingProxyType(
    {
        "done": "all steps completed",
        "interrupted": "not finished; it can be continued",
        "failed": "diverged, or stopped by an error",
        "refused": "not started",
    }
)
# The measures of a run.
FIGURES = MappingProxyType(
    {
        "accuracy": "share of correct predictions on the test set",
        "nll": "test loss, in nats",
        "mean_nll": "mean test loss over all positions in the loss, in nats",
        "learned": "share of what can be learned",
        "exact_match": "share of targets written without a mistake",
    }
)

_NOTHING = Curve(np.zeros(0, dtype=int), np.zeros(0))
MOST_NAME, MOST_NOTE, MOST_TAG, MOST_TAGS = 200, 10_000, 50, 20
# Lines and tabs belong in a note.
NOTE_LAYOUT = "\n\r\t"


@dataclasses.dataclass(frozen=True)
class RunSummary:
    """A run in numbers, or the `reason` why there are none or not all.

    Surrounding spaces and repeated tags are dropped, and texts of the user are converted to
    Unicode's normal form C. Raises `OptionError` for such texts that are too long or have invisible
    characters, and for empty or too many tags.

    >>> RunSummary(Experiment(), "refused", reason="too large", tags=("b", "a ", "b")).tags
    ('a', 'b')

    Attributes:
        experiment: The settings; if they changed during the run, the last ones.
        state: One of `STATES`.
        evaluation: The test after `steps` steps, or None.
        steps: Number of steps made.
        seconds: Training time.
        parameters: Number of parameters of the model.
        tests: The tests of the run, each with its step.
        curve: The training loss.
        reason: Why the run failed or was refused, or "".
        run: The run with its model, which can be continued; None if it was not kept. A library
            returns it by `Library.run_of`.
        exact_match: Share of entirely correct test targets; None if not measured or not a task.
        versions: The software that made the run; None means that of this process.
        metrics: Pairs of step and value for each metric of `run_all`.
        number: The number of the run in its library, or 0.
        name: The user's name for it.
        tags: The user's tags.
        note: The user's note.
        date: When the library kept it last, in UTC.
        changes: How often its settings were changed.
        has_model: Whether the library has its model.
        deleted: When it was put into the bin, or None.
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
    number: int = 0
    name: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    date: datetime = datetime(2000, 1, 1, tzinfo=UTC)
    changes: int = 0
    has_model: bool = False
    deleted: datetime | None = None

    def __post_init__(self):
        if self.state not in STATES:
            raise ValueError(f"`state` is {self.state!r}. Choose one of {', '.join(STATES)}.")
        name, note = normal(self.name.strip()), normal(self.note.strip())
        tags = tuple(sorted({normal(tag.strip()) for tag in self.tags}))
        _check("name", name, MOST_NAME)
        _check("note", note.translate(dict.fromkeys(map(ord, NOTE_LAYOUT))), MOST_NOTE)
        for tag in tags:
            _check("tags", tag, MOST_TAG)
            if not tag:
                raise OptionError("tags", self.tags, "one is empty", "Leave it out")
        if len(tags) > MOST_TAGS:
            raise OptionError("tags", tags, f"more than {MOST_TAGS}", "Leave some out")
        for field, value in (("name", name), ("tags", tags), ("note", note)):
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        """Return one line: what was trained, how far, and its test.

        >>> RunSummary(Experiment(seed=3), "interrupted", steps=20)
        RunSummary(markov, attention, seed 3: interrupted, step 20)
        """
        of, test = self.experiment, self.evaluation
        found = [self.state, f"step {self.steps:,}"]
        if test is not None:
            found.append(f"accuracy {show_estimate(test.accuracy, test.accuracy_stderr)}")
            found.append(f"loss {show_estimate(test.nll, test.nll_stderr)} nats")
        what = f"{of.generator.name}, {of.model.name}, seed {of.seed}"
        return f"{type(self).__name__}({what}: {', '.join(found)})"

    @property
    def diverged(self) -> bool:
        """Whether the run failed because it diverged, which it would do again, not by an error."""
        return self.state == "failed" and LOWER_RATE in self.reason

    def kept_at(self, zone: tzinfo | None = None) -> str:
        """Return the date with its offset from UTC, by default in this machine's time zone."""
        return self.date.astimezone(zone).isoformat(" ", "minutes")


def _check(option: str, text: str, most: int) -> None:
    if len(text) > most:
        raise OptionError(option, text, f"more than {most:,} letters", "Shorten it")
    check_visible(option, text)


def summary_of(
    run: Run,
    state: str,
    evaluation: Evaluation | None,
    seconds: float,
    *,
    reason: str = "",
    name: str = "",
    exact_match: float | None = None,
    metrics: dict[str, tuple[tuple[int, float], ...]] | None = None,
) -> RunSummary:
    """Return the summary of a run, with the values that follow from it."""
    return RunSummary(
        experiment=run.experiment,
        state=state,
        evaluation=evaluation,
        steps=int(run.state.step),
        seconds=seconds,
        parameters=parameter_count(run.state.model),
        tests=run.history.tests,
        curve=loss_curve(run.history),
        reason=reason,
        name=name,
        run=run,
        changes=len(run.history.changes),
        exact_match=exact_match,
        versions=run.history.versions,
        metrics=metrics or {},
    )
