"""The progress of a live run: its results so far, its timing, its autosave, and shared runs."""

import collections
import dataclasses
import logging
import math
import threading
import time
from collections.abc import Callable
from typing import Any

import jax

from attnlab.configuration.options import OptionError, present
from attnlab.runs.history import History, empty_history
from attnlab.runs.run import Run
from attnlab.runs.run_summary import RunSummary, summary_of
from attnlab.training.changes import REFUSAL, change_between
from attnlab.training.experiment import Experiment, Setup
from attnlab.training.loop import (
    EvaluationEvent,
    Event,
    NotFiniteError,
    Progress,
    divergence,
    evaluation_plan,
)
from attnlab.training.steps import CHUNK_CAPACITY, TrainState

_LOG = logging.getLogger(__name__)

# At most this much of a run is lost when its process is killed.
_AUTOSAVE_SECONDS = 10.0
# A chunk this long keeps Pause prompt and costs little in calls.
_CHUNK_SECONDS = 0.075
# Seconds between evaluations outside the evaluation plan, and the share of time they may take.
_EVALUATION_SECONDS = 0.25
_EVALUATION_SHARE = 0.25
_SPEED_SECONDS = 1.0
# The length of a chunk in a run with a speed limit.
_SLOW_SECONDS = 0.1
# The least time counted for a chunk, since a coarse clock may measure 0.
_LEAST_SECONDS = 1e-6


class Pace:
    """Timing of one stretch of training between two pauses.

    Args:
        step: The step at which the stretch begins.
        clock: Counts seconds; not the time of day, which can jump.
        spent: Seconds of training before this stretch.
    """

    def __init__(
        self, step: int, clock: Callable[[], float] = time.perf_counter, *, spent: float = 0.0
    ):
        self.chunk = 1
        # The most steps per second, or None without a limit. May be set at any time.
        self.limit: float | None = None
        self._clock = clock
        self._began = clock()
        self._start = self._began - spent
        self._last_evaluation = self._began
        self._evaluate_every = _EVALUATION_SECONDS
        self._turn, self._last_steps = self._began, 0
        self._marks = collections.deque([(self._began, step)])

    def seconds(self) -> float:
        """Return the total training seconds, including earlier stretches."""
        return self._clock() - self._start

    def begin_chunk(self) -> None:
        """Record that a chunk of steps begins."""
        self._began = self._clock()
        self._turn = self._began

    def end_chunk(self, steps: int) -> None:
        """Record that a chunk is done, and set the length of the next one."""
        if steps:
            each = max(_LEAST_SECONDS, self._clock() - self._began) / steps
            self.chunk = max(1, min(CHUNK_CAPACITY, int(_CHUNK_SECONDS / each)))
            if self.limit is not None:
                self.chunk = max(1, min(self.chunk, int(_SLOW_SECONDS * self.limit)))
        self._last_steps = steps
        self._began = self._clock()

    def rest(self) -> float:
        """Return the seconds to wait before the next chunk, so that the limit holds."""
        if self.limit is None or self.evaluation_is_due():
            return 0.0
        whole = self._last_steps / self.limit
        return min(max(0.0, self._turn + whole - self._clock()), whole)

    def evaluation_is_due(self) -> bool:
        """Return whether it is time for an evaluation, given the time that it takes."""
        return self._began - self._last_evaluation >= self._evaluate_every

    def end_evaluation(self) -> None:
        """Record that an evaluation is done."""
        self._last_evaluation = self._clock()
        cost = self._last_evaluation - self._began
        self._evaluate_every = max(_EVALUATION_SECONDS, cost / _EVALUATION_SHARE)

    def steps_per_second(self, step: int) -> float:
        """Return the speed over the last second or, in a slow run, the last chunk."""
        now = self._clock()
        self._marks.append((now, step))
        while len(self._marks) > 2 and now - self._marks[1][0] >= _SPEED_SECONDS:
            self._marks.popleft()
        then, earlier = self._marks[0]
        return (step - earlier) / max(_LEAST_SECONDS, now - then)


# Saves a result; the second argument is its last return value for the same run, None at first.
Save = Callable[[RunSummary, Any], Any]


class Autosave:
    """Saving of a run every ten seconds and when it pauses or ends, unless it is unchanged.

    An exception of `save` is logged, and the run continues.

    Args:
        save: Saves a result, or None to save nothing.
        kept: What `save` returned for this run before; it is replaced after each save.
        name: The name of the results; it may be set until the first save.
        clock: Counts seconds and never goes back.
    """

    def __init__(
        self,
        save: Save | None = None,
        *,
        kept: Any = None,
        name: str = "",
        clock: Callable[[], float] = time.monotonic,
    ):
        self._lock = threading.Lock()
        self._save, self._clock = save, clock
        self._before = 0, 0, ""
        self._due = clock() + _AUTOSAVE_SECONDS
        self.kept, self.name = kept, name

    def is_due(self) -> bool:
        """Return whether the last save was at least ten seconds ago."""
        return self._save is not None and self._clock() >= self._due

    def leave_out(self, steps: int, changes: int) -> None:
        """Skip saving until the run has more steps or more changes of settings than this."""
        self._before = steps, changes, ""

    def take(self, make: Callable[[], RunSummary | None]) -> None:
        """Save the result that `make` returns, if it is new. Thread-safe."""
        if self._save is None:
            return
        with self._lock:
            try:
                result = make()
                if result is not None:
                    mark = result.steps, len(present(result.run).history.changes), result.reason
                    if mark != self._before:
                        self.kept = self._save(result, self.kept)
                        self._before = mark
            # A failed save must not end the run.
            except Exception:
                _LOG.exception("A run was not saved.")
            self._due = self._clock() + _AUTOSAVE_SECONDS


@dataclasses.dataclass(eq=False)
class RunProgress:
    """The results of a live run of one experiment so far. Not thread-safe.

    Attributes:
        state: None until the initial weights are evaluated.
        latest: The latest evaluation, None before the first.
        tested: The run at the latest evaluation.
        message: What is being prepared, or why the run was paused.
        failure: Why training failed, or "".
        target: The test loss at which to pause.
    """

    experiment: Experiment
    autosave: Autosave
    setup: Setup | None = None
    state: TrainState | None = None
    history: History = dataclasses.field(default_factory=empty_history)
    seconds: float = 0.0
    steps_per_second: float = 0.0
    latest: EvaluationEvent | None = None
    tested: Run | None = None
    pace: Pace | None = None
    message: str = ""
    failure: str = ""
    target: float | None = None

    def __post_init__(self):
        self.step = 0 if self.state is None else int(self.state.step)
        # A stored run may be of a file, whose weights need not be those of its settings.
        self.is_trained_here = self.state is None
        self.plan = evaluation_plan(self.experiment.training.steps)

    @property
    def at_end(self) -> bool:
        """Whether all steps are taken and evaluated."""
        return self.latest is not None and self.step == self.experiment.training.steps

    @property
    def is_finished(self) -> bool:
        """Whether the run has ended and only the experiment determined it: no changed settings."""
        is_pure = self.is_trained_here and not self.history.changes
        return is_pure and (self.at_end or self.failure != "")

    def take_over(self, other: "RunProgress") -> None:
        """Become an equal run that is finished. The values are shared: they are immutable."""
        self.setup, self.state, self.step = other.setup, other.state, other.step
        self.history, self.seconds = other.history, other.seconds
        self.latest, self.tested, self.failure = other.latest, other.tested, other.failure
        self.message = ""

    def amend(self, experiment: Experiment) -> None:
        """Change settings of the training. Raises as `LiveRun.amend`, and then changes nothing."""
        before, after = self.experiment.training, experiment.training
        if dataclasses.replace(experiment, training=before) != self.experiment:
            raise ValueError(REFUSAL)
        change = change_between(before, after, step=self.step)
        if after.steps < self.step:
            problem = f"less than the {self.step:,} steps already made"
            raise OptionError("steps", after.steps, problem, "Choose more, or reset")
        self.history = self.history.after(change)
        setup = present(self.setup)
        self.setup = setup._replace(source=setup.source.with_batch(after.batch))
        self.experiment, self.plan = experiment, evaluation_plan(after.steps)
        if self.latest is not None and self.tested is not None and self.latest.step == self.step:
            self.tested = self.stored()

    def take(self, event: Event) -> None:
        """Add steps or an evaluation."""
        self.history = self.history.after(event)
        if isinstance(event, Progress):
            self.state = event.state
            self.step += event.losses.nll.size
            if self.pace:
                self.pace.end_chunk(event.losses.nll.size)
        elif isinstance(event, EvaluationEvent):
            if self.latest is None:
                self.message = ""
                self.state = self.state or present(self.setup).state
            self.latest = event
            if self.at_end:
                setup, state = present(self.setup), present(self.state)
                self.failure = divergence(self.experiment, setup, state, event.evaluation)
            self.tested = self.stored()
            if self.pace:
                self.pace.end_evaluation()
        if self.pace:
            self.steps_per_second = self.pace.steps_per_second(self.step)
            self.seconds = self.pace.seconds()

    def reached(self, test_nll: float | None) -> bool:
        """Return whether the latest test loss is at most `test_nll`."""
        if self.latest is None or test_nll is None:
            return False
        return self.latest.evaluation.nll <= test_nll

    def fail(self, error: NotFiniteError, event: EvaluationEvent) -> None:
        """Return to the last good state, and keep its evaluation unless it overflowed."""
        self.state, self.step, self.failure = error.state, int(error.state.step), str(error)
        self.history = self.history.until(self.step)
        if math.isfinite(event.evaluation.nll):
            self.latest, self.tested = event, self.stored()

    def stored(self) -> Run | None:
        """Return the run as it can be saved, or None before anything was computed."""
        return None if self.state is None else Run(self.experiment, self.state, self.history)

    def summary(self, run: Run | None, error: str) -> RunSummary | None:
        """Return `run` in numbers, with the latest evaluation; None before the first."""
        if run is None or self.latest is None:
            return None
        reason = self.failure or error
        state = "failed" if reason else "done" if self.at_end else "interrupted"
        evaluation, name = self.latest.evaluation, self.autosave.name
        return summary_of(run, state, evaluation, self.seconds, reason=reason, name=name)


class SharedRuns:
    """The last finished runs, by experiment. Thread-safe.

    An experiment determines its run, so that a stored run equals what a visitor would train. It
    contains no names, tags or notes.

    Args:
        most_bytes: Maximum size of all stored runs; the oldest are dropped.
    """

    def __init__(self, most_bytes: int):
        self._most_bytes, self._lock = most_bytes, threading.Lock()
        self._runs: collections.OrderedDict[Experiment, tuple[RunProgress, int]]
        self._runs = collections.OrderedDict()

    def __contains__(self, experiment: object) -> bool:
        with self._lock:
            return experiment in self._runs

    def get(self, experiment: Experiment) -> RunProgress | None:
        """Return the finished run of an experiment, if it is stored. Do not change it."""
        with self._lock:
            return self._runs.get(experiment, (None, 0))[0]

    def put(self, run: RunProgress) -> None:
        """Store a finished run, unless it is too large."""
        kept = RunProgress(run.experiment, Autosave())
        kept.take_over(run)
        models = run.latest, run.history.checkpoints
        parts = jax.tree.leaves((run.setup, run.state, run.history.losses, models))
        size = sum(getattr(part, "nbytes", 0) for part in parts)
        if size > self._most_bytes:
            return
        with self._lock:
            self._runs.pop(run.experiment, None)
            self._runs[run.experiment] = kept, size
            while sum(each for _, each in self._runs.values()) > self._most_bytes:
                self._runs.popitem(last=False)
