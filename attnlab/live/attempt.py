"""What a live run is between two resets."""

import dataclasses
import threading

import numpy as np

from attnlab.configuration.options import OptionError
from attnlab.live.queueing import Place
from attnlab.models import parameter_count
from attnlab.runs.history import History, empty_history
from attnlab.runs.snapshot import Snapshot
from attnlab.training.changes import REFUSAL, change_between
from attnlab.training.experiment import Experiment, Setup
from attnlab.training.loop import Look
from attnlab.training.schedule import Schedule, schedule
from attnlab.training.steps import CHUNK_CAPACITY, TrainState


class Attempt:
    """What a run has between two resets. Read and written under the lock of its `LiveRun`.

    `allowed` is how many more steps the thread may take: 0 asks it to pause, None sets no limit.
    """

    def __init__(self, experiment: Experiment):
        self.experiment = experiment
        self.plan: Schedule = schedule(experiment.training.steps)
        self.allowed: int | None = 0
        self.thread: threading.Thread | None = None
        # Held or waited for as long as there is a thread.
        self.place: Place | None = None
        self.state = "idle"
        self.message = ""
        self.setup: Setup | None = None
        self.train: TrainState | None = None
        # The state before the newest chunk: the way back if that ended at bad weights.
        self.earlier: TrainState | None = None
        self.history = empty_history()
        self.latest: Look | None = None
        self.step = 0
        self.steps_per_second = 0.0
        self.seconds = 0.0
        self.target: float | None = None

    def steps_to_take(self, chunk: int) -> int:
        """How many steps come next: none when paused or at the end, no further than a test."""
        due = self.plan.next_after(self.step) - self.step
        allowed = due if self.allowed is None else self.allowed
        return min(chunk, due, allowed, CHUNK_CAPACITY)

    def snapshot(self) -> Snapshot:
        """What there is to see of it."""
        setup, train, place = self.setup, self.train, self.place
        return Snapshot(
            experiment=self.experiment,
            state=self.state,
            step=self.step,
            history=self.history,
            latest=self.latest,
            probes=None if setup is None else np.asarray(setup.probes),
            parameters=0 if train is None else parameter_count(train.model),
            steps_per_second=self.steps_per_second,
            seconds=self.seconds,
            message=self.message or (place.message() if place else ""),
            in_queue=place.number if place else 0,
        )

    def stop(self) -> None:
        """Have no further step taken."""
        self.allowed = 0
        # One that still waits has nothing to finish. It comes up paused where it stands.
        if self.place is not None and self.place.number:
            self.place.leave()

    def amend(self, experiment: Experiment) -> None:
        """Go on as another experiment, as `LiveRun.amend` has it."""
        if self.state not in ("paused", "done") or self.setup is None:
            return
        if dataclasses.replace(experiment, training=self.experiment.training) != self.experiment:
            raise ValueError(REFUSAL)
        change = change_between(self.experiment.training, experiment.training, step=self.step)
        steps = experiment.training.steps
        if steps < self.step:
            problem = f"less than the {self.step:,} steps that were made"
            raise OptionError("steps", steps, problem, "Choose more, or reset")
        self.history = self.history.with_change(change)
        self.setup = self.setup._replace(
            source=self.setup.source.with_batch(experiment.training.batch)
        )
        self.experiment, self.plan = experiment, schedule(steps)
        self.state = "done" if self.step == steps else "paused"

    def show(self, history: History, look: Look | None) -> None:
        """Put a newer history in its place, and what was just looked at."""
        if look is not None:
            self.latest = look
            if self.target is not None and look.evaluation.nll <= self.target:
                self.allowed = 0
                self.message = f"the test loss reached {self.target:.3f} nats at step {look.step:,}"
                self.target = None
            if look.step in self.plan.tests:
                history = history.with_test(look.step, look.evaluation)
            if look.step in self.plan.checkpoints:
                history = history.with_checkpoint(look.step, look.model)
        self.history = history

    def end(self, state: str, message: str) -> None:
        """Have no thread any more."""
        self.state, self.message, self.thread = state, message, None
        self.place.leave()
