"""A run that trains in the background while somebody watches. Knows nothing of Streamlit."""

import dataclasses
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from jaxtyping import Int

from attnlab.configuration.options import OptionError
from attnlab.generators.interruption import Stopped
from attnlab.live.background import Background
from attnlab.live.pace import Pace
from attnlab.live.programs import Programs
from attnlab.live.queueing import WorkQueue
from attnlab.models import parameter_count
from attnlab.runs.history import History, empty_history
from attnlab.runs.snapshot import Snapshot
from attnlab.runs.storage import Run
from attnlab.training.changes import REFUSAL, change_between
from attnlab.training.experiment import Experiment, Setup, prepare
from attnlab.training.loop import Event, Look, NotFiniteError, Progress, look_at, run
from attnlab.training.schedule import schedule
from attnlab.training.steps import TrainState

_REMEDY = ": press Start to go on"


class LiveRun:
    """One experiment, trained in a thread that exists only while there is something to do.

    Every method may be called from any thread, at any time and any number of times; none but
    `wait` waits for the training thread. States: idle → compiling → running ⇄ paused → done or
    failed. A run that has to wait for its turn in `queue` is compiling, and its message says so.
    """

    def __init__(
        self,
        experiment: Experiment,
        *,
        programs: Programs | None = None,
        queue: WorkQueue | None = None,
    ):
        self._lock = threading.Lock()
        self._programs = programs or Programs()
        self._queue = queue or WorkQueue()
        self._speed: float | None = None
        self._begin_with(experiment, None, None, empty_history())

    def _begin_with(
        self, experiment: Experiment, setup: Setup | None, state: TrainState | None, kept: History
    ) -> None:
        self._setup, self._train, self._history = setup, state, kept
        self._step = 0 if state is None else int(state.step)
        self._latest: Look | None = None
        self._target: float | None = None
        self._pace: Pace | None = None
        self._seconds = self._steps_per_second = 0.0
        self._begun = self._compiled = False
        self._message = self._failure = ""
        # How many more steps may be taken: 0 asks for a pause, None sets no limit.
        self._allowed: int | None = 0
        self._go_on_as(experiment)

    def _go_on_as(self, experiment: Experiment) -> None:
        self._experiment, self._plan = experiment, schedule(experiment.training.steps)
        work = Background(
            lambda: self._train_on(work),
            queue=self._queue,
            rest=self._rest,
            name="attnlab-run",
            may_pause=lambda: (look := self._latest) is not None and look.step == self._step,
        )
        self._work = work

    @property
    def experiment(self) -> Experiment:
        """What is trained."""
        return self._experiment

    def start(self) -> None:
        """Train on to the last step. Nothing happens to a run that is done or failed."""
        with self._lock:
            self._allow(None)

    def pause(self) -> None:
        """Stop after the chunk of steps at hand, and keep everything."""
        with self._lock:
            self._allowed = 0
            self._work.pause()

    def step(self) -> None:
        """Pause, then take exactly one step more; called n times in a pause, n steps."""
        with self._lock:
            self._allow((self._allowed or 0) + 1)

    def stop_at(self, test_nll: float | None) -> None:
        """Pause once a test loss is at most `test_nll`, in nats; None trains to the last step.

        A target that was reached is forgotten, and one that holds already is not set, so that the
        run can be continued.
        """
        with self._lock:
            latest = self._latest
            holds = None not in (latest, test_nll) and latest.evaluation.nll <= test_nll
            self._target = None if holds else test_nll

    def set_speed(self, steps_per_second: float | None) -> None:
        """Make at most so many steps a second, from now on; None makes as many as there can be."""
        with self._lock:
            self._speed = steps_per_second
            if self._pace:
                self._pace.limit = steps_per_second

    def reset(self, experiment: Experiment | None = None) -> None:
        """Begin again: with the same data and weights, or with another experiment."""
        with self._lock:
            # The old thread ends by itself after its chunk, and changes nothing here any more.
            self._work.pause()
            same = experiment in (None, self._experiment)
            setup = self._setup if same else None
            self._begin_with(experiment or self._experiment, setup, None, empty_history())

    def amend(self, experiment: Experiment) -> None:
        """Go on as another experiment, which differs in `AMENDABLE` options of its training alone.

        The model is kept, the history tells of the change, and the run is paused. Nothing happens
        before the first look, or after a failure. Refused: other differences, fewer steps than were
        made, and more changes than a history has.
        """
        with self._lock:
            if self._state() not in ("running", "paused", "done") or self._setup is None:
                return
            before, after = self._experiment.training, experiment.training
            if dataclasses.replace(experiment, training=before) != self._experiment:
                raise ValueError(REFUSAL)
            change = change_between(before, after, step=self._step)
            if after.steps < self._step:
                problem = f"less than the {self._step:,} steps that were made"
                raise OptionError("steps", after.steps, problem, "Choose more, or reset")
            # What is being computed now is computed anew with the other settings.
            self._work.pause()
            self._allowed = 0
            self._history = self._history.after(change)
            source = self._setup.source.with_batch(after.batch)
            self._setup = self._setup._replace(source=source)
            self._go_on_as(experiment)

    def resume(self, run: Run) -> None:
        """Put a stored run in the place of this one; it comes up paused, or done."""
        with self._lock:
            self._work.pause()
            self._begin_with(run.experiment, None, run.state, run.history)
            self._allow(0)

    def snapshot(self) -> Snapshot:
        """What there is to see now. A run that nobody looks at may have to make way."""
        with self._lock:
            work, place = self._work.state(), self._work.place
            setup, train = self._setup, self._train
            message = self._failure or work.error or self._message
            if not message and work.running:
                message = place.message() if place else ""
            elif not message and work.message:
                message = work.message + _REMEDY
            return Snapshot(
                experiment=self._experiment,
                state=self._state(),
                step=self._step,
                history=self._history,
                latest=self._latest,
                probes=None if setup is None else np.asarray(setup.probes),
                parameters=0 if train is None else parameter_count(train.model),
                steps_per_second=self._steps_per_second,
                seconds=self._seconds,
                message=message,
                in_queue=place.number if place else 0,
            )

    def stored(self) -> Run | None:
        """The run as it can be saved, or None before anything was computed."""
        with self._lock:
            if self._train is None:
                return None
            return Run(self._experiment, self._train, self._history)

    def test_sequences(self) -> Int[np.ndarray, "test days"] | None:
        """The sequences that the run is tested on, or None before they were drawn."""
        setup = self._setup
        return None if setup is None else np.asarray(setup.test)

    def wait(self, timeout: float) -> bool:
        """Wait until no thread is at work for this run; False if that takes longer."""
        return self._work.wait(timeout)

    def _state(self) -> str:
        work, place = self._work.state(), self._work.place
        if self._failure or work.error:
            return "failed"
        if work.running:
            return "running" if self._compiled and not (place and place.number) else "compiling"
        if not self._begun:
            return "idle"
        at_end = self._latest is not None and self._step == self._experiment.training.steps
        return "done" if at_end else "paused"

    def _allow(self, steps: int | None) -> None:
        if not self._work.state().running:
            self._message, self._pace = "", None
        self._allowed, self._begun = steps, True
        self._work.start()

    @contextmanager
    def _of(self, work: Background) -> Iterator[None]:
        """With the lock held; ends work in whose place another was put."""
        with self._lock:
            if work is not self._work:
                raise Stopped
            yield

    def _say(self, work: Background, message: str) -> None:
        with self._of(work):
            self._message = message

    def _train_on(self, work: Background) -> Iterator[None]:
        """What the thread does: all that is left of the run, with a moment to pause after each."""
        experiment, setup, state = self._experiment, self._setup, self._train
        if self._latest is None:
            self._say(work, "compiling the programs")
            self._programs.ask_for(experiment)
            self._programs.wait_to_begin(experiment)
            self._say(work, "drawing the data")
            setup = setup or prepare(experiment)
            state = state or setup.state
            self._say(work, "testing the starting weights")
            with self._of(work):
                self._setup = setup
            if self._step > 0:
                self._take(work, look_at(state, setup, experiment.training, self._plan))
                yield
        try:
            events = run(experiment, state, setup=setup, chunk=lambda: self._next_chunk(work))
            for event in events:
                self._take(work, event)
                yield
        except NotFiniteError as error:
            self._fail(work, error)

    def _next_chunk(self, work: Background) -> int:
        """How many steps come next: 0 for a look, which also comes before a pause."""
        with self._lock:
            compiled = self._compiled
        if not compiled:
            # The largest of them; meanwhile there is something to see.
            self._programs.wait_for(self._experiment)
        with self._of(work):
            self._compiled = True
            if self._pace is None:
                self._pace = Pace(self._step, spent=self._seconds)
                self._pace.limit = self._speed
            if work.is_stopping() or self._pace.look_is_due():
                return 0
            steps = min(self._pace.chunk, self._plan.next_after(self._step) - self._step)
            if self._allowed is not None:
                steps = min(steps, self._allowed)
                self._allowed -= steps
            self._pace.begin()
            return steps

    def _rest(self) -> float:
        pace = self._pace
        return 0.0 if pace is None else pace.rest()

    def _take(self, work: Background, event: Event) -> None:
        with self._of(work):
            self._history = self._history.after(event)
            if isinstance(event, Progress):
                self._train = event.state
                self._step += event.losses.nll.size
                if self._pace:
                    self._pace.stepped(event.losses.nll.size)
            else:
                self._look(event)
            if self._pace:
                self._steps_per_second = self._pace.steps_per_second(self._step)
                self._seconds = self._pace.seconds()
            if self._allowed == 0:
                work.pause()

    def _look(self, look: Look) -> None:
        if self._latest is None:
            self._message = ""
            self._train = self._train or self._setup.state
        self._latest = look
        if self._pace:
            self._pace.looked()
        if self._target is not None and look.evaluation.nll <= self._target:
            self._message = f"the test loss reached {self._target:.3f} nats at step {look.step:,}"
            self._allowed, self._target = 0, None

    def _fail(self, work: Background, error: NotFiniteError) -> None:
        """Keep the last good state. Its weights may be so large that their test overflows."""
        step = int(error.state.step)
        look = look_at(error.state, self._setup, self._experiment.training, self._plan)
        with self._of(work):
            self._train, self._step, self._failure = error.state, step, str(error)
            self._history = self._history.until(step)
            if math.isfinite(look.evaluation.nll):
                self._latest = look
