"""What a live run has made until now. Knows of no thread and of no lock."""

import dataclasses
import math

import numpy as np

from attnlab.configuration.options import OptionError
from attnlab.live.keeping import Keeping
from attnlab.live.pace import Pace
from attnlab.models import parameter_count
from attnlab.runs.history import History, empty_history
from attnlab.runs.result import Result, result_of
from attnlab.runs.snapshot import Snapshot
from attnlab.runs.storage import Run
from attnlab.training.changes import REFUSAL, change_between
from attnlab.training.experiment import Experiment, Setup
from attnlab.training.loop import Event, Look, NotFiniteError, Progress, divergence, schedule
from attnlab.training.steps import TrainState


class RunSoFar:
    """The data, weights, losses, tests and times of an experiment, as far as it has come.

    `state` is None until the starting weights are tested, and `latest` until a first test;
    `message` says what is being prepared, `failure` by what it ended. `keeping` is where it is
    kept, as it was last tested. `seconds` were spent on it before.
    """

    def __init__(
        self,
        experiment: Experiment,
        *,
        setup: Setup | None = None,
        state: TrainState | None = None,
        history: History | None = None,
        keeping: Keeping | None = None,
        seconds: float = 0.0,
    ):
        self.setup, self.state = setup, state
        self.keeping = keeping or Keeping()
        self._tested: Run | None = None
        self.history = empty_history() if history is None else history
        self.step = 0 if state is None else int(state.step)
        self.latest: Look | None = None
        self.pace: Pace | None = None
        self.message = self.failure = ""
        self._seconds, self._steps_per_second = seconds, 0.0
        self._target: float | None = None
        self._set_experiment(experiment)

    def _set_experiment(self, experiment: Experiment) -> None:
        self.experiment, self.plan = experiment, schedule(experiment.training.steps)

    @property
    def at_end(self) -> bool:
        """Whether all steps are made and tested."""
        return self.latest is not None and self.step == self.experiment.training.steps

    def amend(self, experiment: Experiment) -> None:
        """Go on as another experiment; refused as `LiveRun.amend` says, with nothing changed."""
        before, after = self.experiment.training, experiment.training
        if dataclasses.replace(experiment, training=before) != self.experiment:
            raise ValueError(REFUSAL)
        change = change_between(before, after, step=self.step)
        if after.steps < self.step:
            problem = f"less than the {self.step:,} steps that were made"
            raise OptionError("steps", after.steps, problem, "Choose more, or reset")
        self.history = self.history.after(change)
        self.setup = self.setup._replace(source=self.setup.source.with_batch(after.batch))
        self._set_experiment(experiment)
        if self._tested is not None and self.latest.step == self.step:
            self._tested = self.stored()

    def set_pace(self, limit: float | None) -> Pace:
        """The clock of this stretch of training; one begins with it."""
        if self.pace is None:
            self.pace = Pace(self.step, spent=self._seconds)
            self.pace.limit = limit
        return self.pace

    def take(self, event: Event) -> None:
        """Steps that were made, or a test."""
        self.history = self.history.after(event)
        if isinstance(event, Progress):
            self.state = event.state
            self.step += event.losses.nll.size
            if self.pace:
                self.pace.stepped(event.losses.nll.size)
        else:
            if self.latest is None:
                self.message = ""
                self.state = self.state or self.setup.state
            self.latest = event
            if self.at_end:
                self.failure = divergence(self.experiment, self.setup, self.state, event.evaluation)
            self._tested = self.stored()
            if self.pace:
                self.pace.looked()
        if self.pace:
            self._steps_per_second = self.pace.steps_per_second(self.step)
            self._seconds = self.pace.seconds()

    def aim_at(self, test_nll: float | None) -> None:
        """Aim at a test loss, unless a test of the run has had it already; None is no aim."""
        tests = (evaluation.nll for _, evaluation in self.history.tests)
        had = test_nll is not None and any(nll <= test_nll for nll in tests)
        self._target = None if had or self._holds(test_nll) else test_nll

    def reached_target(self) -> bool:
        """Whether the latest test has what was aimed at, which is then said and forgotten."""
        if not self._holds(self._target):
            return False
        step = f"step {self.latest.step:,}"
        self.message = f"the test loss reached {self._target:.3f} nats at {step}"
        self._target = None
        return True

    def _holds(self, test_nll: float | None) -> bool:
        return None not in (self.latest, test_nll) and self.latest.evaluation.nll <= test_nll

    def fail(self, error: NotFiniteError, look: Look) -> None:
        """Keep the last good state. Its weights may be so large that their test overflows."""
        self.state, self.step, self.failure = error.state, int(error.state.step), str(error)
        self.history = self.history.until(self.step)
        if math.isfinite(look.evaluation.nll):
            self.latest, self._tested = look, self.stored()

    def snapshot(self, *, state: str, message: str, in_queue: int) -> Snapshot:
        """What there is to see now."""
        return Snapshot(
            experiment=self.experiment,
            state=state,
            step=self.step,
            history=self.history,
            latest=self.latest,
            probes=None if self.setup is None else np.asarray(self.setup.probes),
            parameters=0 if self.state is None else parameter_count(self.state.model),
            steps_per_second=self._steps_per_second,
            seconds=self._seconds,
            message=message,
            in_queue=in_queue,
        )

    def stored(self) -> Run | None:
        """The run as it can be saved, or None before anything was computed."""
        return None if self.state is None else Run(self.experiment, self.state, self.history)

    def result(self, error: str = "") -> Result | None:
        """What came of it until its last test, None if no step was made; `error` has ended it."""
        if self._tested is None or self.latest.step == 0:
            return None
        reason = self.failure or error
        state = "failed" if reason else "done" if self.at_end else "interrupted"
        figures = self.latest.evaluation
        return result_of(self._tested, state, figures, self._seconds, reason=reason)
