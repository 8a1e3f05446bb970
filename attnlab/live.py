"""A run that trains in the background while somebody watches. Knows nothing of Streamlit."""

import dataclasses
import logging
import math
import threading

import numpy as np
from jaxtyping import Int

from attnlab.experiment import Experiment, Setup, prepare
from attnlab.history import (
    History,
    Schedule,
    empty_history,
    schedule,
)
from attnlab.models import parameter_count
from attnlab.options import OptionError
from attnlab.pace import Pace
from attnlab.programs import Programs
from attnlab.queueing import Place, TrainingQueue
from attnlab.snapshot import Look, Snapshot
from attnlab.storage import Run
from attnlab.training import (
    AMENDABLE,
    CHUNK_CAPACITY,
    Losses,
    TrainState,
    advance,
    evaluate,
    is_finite,
)

_LOG = logging.getLogger(__name__)


class _Attempt:
    """What a run has between two resets. Written under the lock of its `LiveRun`.

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
        queue: TrainingQueue | None = None,
    ):
        self._lock = threading.Lock()
        self._programs = programs or Programs()
        self._queue = queue or TrainingQueue()
        self._attempt = _Attempt(experiment)

    @property
    def experiment(self) -> Experiment:
        """What is trained."""
        return self._attempt.experiment

    def start(self) -> None:
        """Train on to the last step. Nothing happens to a run that is done or failed."""
        with self._lock:
            self._attempt.allowed = None
            self._see_to_it()

    def pause(self) -> None:
        """Stop after the chunk of steps at hand, and keep everything."""
        with self._lock:
            self._stop(self._attempt)

    def step(self) -> None:
        """Pause, then take exactly one step more; called n times in a pause, n steps."""
        with self._lock:
            self._attempt.allowed = (self._attempt.allowed or 0) + 1
            self._see_to_it()

    def stop_at(self, test_nll: float | None) -> None:
        """Pause once a test loss is at most `test_nll`, in nats; None trains to the last step.

        A target that was reached is forgotten, and one that holds already is not set, so that the
        run can be continued.
        """
        with self._lock:
            latest = self._attempt.latest
            holds = None not in (latest, test_nll) and latest.evaluation.nll <= test_nll
            self._attempt.target = None if holds else test_nll

    def reset(self, experiment: Experiment | None = None) -> None:
        """Begin again: with the same data and weights, or with another experiment."""
        with self._lock:
            old = self._attempt
            new = _Attempt(experiment or old.experiment)
            if new.experiment == old.experiment:
                new.setup = old.setup
            self._replace_attempt(new)

    def amend(self, experiment: Experiment) -> None:
        """Go on as another experiment, which differs in `AMENDABLE` options of its training alone.

        The model is kept, and the history tells of the change. Nothing happens unless the run is
        paused or done. Refused: other differences, and fewer steps than were made.
        """
        with self._lock:
            attempt = self._attempt
            if attempt.state not in ("paused", "done") or attempt.setup is None:
                return
            text = _amendment(attempt.experiment, experiment)
            steps = experiment.training.steps
            if steps < attempt.step:
                problem = f"less than the {attempt.step:,} steps that were made"
                raise OptionError("steps", steps, problem, "Choose more, or reset")
            attempt.setup = attempt.setup._replace(
                source=attempt.setup.source.with_batch(experiment.training.batch)
            )
            attempt.experiment, attempt.plan = experiment, schedule(steps)
            attempt.history = attempt.history.with_change(attempt.step, text)
            attempt.state = "done" if attempt.step == steps else "paused"

    def resume(self, run: Run) -> None:
        """Put a stored run in the place of this one; it comes up paused, or done."""
        attempt = _Attempt(run.experiment)
        attempt.train, attempt.history, attempt.step = run.state, run.history, int(run.state.step)
        with self._lock:
            self._replace_attempt(attempt)
            self._see_to_it()

    def snapshot(self) -> Snapshot:
        """What there is to see now. A run that nobody looks at may have to make way."""
        with self._lock:
            attempt = self._attempt
            setup, train, place = attempt.setup, attempt.train, attempt.place
            if place is not None:
                place.watch()
            return Snapshot(
                experiment=attempt.experiment,
                state=attempt.state,
                step=attempt.step,
                history=attempt.history,
                latest=attempt.latest,
                probes=None if setup is None else np.asarray(setup.probes),
                parameters=0 if train is None else parameter_count(train.model),
                steps_per_second=attempt.steps_per_second,
                seconds=attempt.seconds,
                message=attempt.message or (place.message() if place else ""),
                in_queue=place.number if place else 0,
            )

    def stored(self) -> Run | None:
        """The run as it can be saved, or None before anything was computed."""
        with self._lock:
            attempt = self._attempt
            if attempt.train is None:
                return None
            return Run(attempt.experiment, attempt.train, attempt.history)

    def test_sequences(self) -> Int[np.ndarray, "test days"] | None:
        """The sequences that the run is tested on, or None before they were drawn."""
        setup = self._attempt.setup
        return None if setup is None else np.asarray(setup.test)

    def wait(self, timeout: float) -> bool:
        """Wait until no thread is at work for this run; False if that takes longer."""
        thread = self._attempt.thread
        if thread is not None:
            thread.join(timeout)
        return thread is None or not thread.is_alive()

    def _replace_attempt(self, attempt: _Attempt) -> None:
        # The old thread ends by itself after its chunk, and writes to the old attempt alone.
        self._stop(self._attempt)
        self._attempt = attempt

    def _stop(self, attempt: _Attempt) -> None:
        attempt.allowed = 0
        # One that still waits has nothing to finish. It comes up paused where it stands.
        if attempt.place is not None and attempt.place.number:
            attempt.place.leave()

    def _see_to_it(self) -> None:
        """With the lock held: have a thread at work if there is anything to do."""
        attempt = self._attempt
        if attempt.state in ("done", "failed") or attempt.thread is not None:
            return
        attempt.place = self._queue.join()
        waits = attempt.place.number > 0
        attempt.state = "compiling" if attempt.latest is None or waits else "running"
        attempt.message = ""
        # A daemon, so that a page left open never keeps the server from ending.
        attempt.thread = threading.Thread(
            target=self._work, args=(attempt,), name="attnlab-run", daemon=True
        )
        attempt.thread.start()

    def _work(self, attempt: _Attempt) -> None:
        try:
            if not self._take_place(attempt):
                return
            if attempt.latest is None:
                self._compile(attempt)
            self._train(attempt)
        # Whatever goes wrong belongs on the page that watches, not in a dead thread.
        except Exception as error:
            _LOG.exception("A run ended by an error.")
            with self._lock:
                self._end(attempt, "failed", f"{type(error).__name__}: {error}")

    def _take_place(self, attempt: _Attempt) -> bool:
        """Wait for the turn of this run; False, and paused, if nobody wants it by then."""
        while not attempt.place.wait():
            with self._lock:
                if attempt.allowed == 0:
                    self._end(attempt, "paused", "")
                    return False
                # Paused and started again before this thread could hear of it.
                attempt.place = self._queue.join()
        with self._lock:
            if reason := attempt.place.reason_to_end():
                self._end(attempt, "paused", reason)
                return False
            if attempt.latest is not None:
                attempt.state = "running"
        return True

    def _compile(self, attempt: _Attempt) -> None:
        self._say(attempt, "compiling the programs")
        self._programs.wait_to_begin(attempt.experiment)
        self._say(attempt, "drawing the data")
        setup = attempt.setup or prepare(attempt.experiment)
        state = attempt.train or setup.state
        self._say(attempt, "testing the starting weights")
        look = _look(attempt, setup, state)
        with self._lock:
            attempt.setup, attempt.train, attempt.message = setup, state, ""
            self._show(attempt, attempt.history, look)
        # The largest of them; meanwhile there is something to see.
        self._programs.wait_for(attempt.experiment)
        with self._lock:
            attempt.state = "running"

    def _say(self, attempt: _Attempt, message: str) -> None:
        with self._lock:
            attempt.message = message

    def _train(self, attempt: _Attempt) -> None:
        setup, training = attempt.setup, attempt.experiment.training
        pace, before = Pace(attempt.step), attempt.seconds
        while True:
            with self._lock:
                if reason := attempt.place.reason_to_end():
                    attempt.allowed, attempt.message = 0, reason
                steps = attempt.steps_to_take(pace.chunk)
                if steps == 0 and attempt.latest.step == attempt.step:
                    done = attempt.step >= training.steps
                    self._end(attempt, "done" if done else "paused", attempt.message)
                    return
                if attempt.allowed is not None:
                    attempt.allowed -= steps
            pace.begin()
            state, losses = advance(
                attempt.train, setup.source, training, key=setup.key, steps=steps
            )
            bad = _first_bad(state, losses)
            if bad is not None:
                self._fail(attempt, losses, bad)
                return
            pace.stepped(steps)
            history = attempt.history.with_losses(losses.nll)
            now = attempt.step + steps
            look = None
            if now in attempt.plan.tests or steps == 0 or pace.look_is_due():
                look = _look(attempt, setup, state)
                pace.looked()
                if not math.isfinite(look.evaluation.nll):
                    self._fail(attempt, losses, steps)
                    return
            with self._lock:
                if steps:
                    attempt.earlier = attempt.train
                attempt.train, attempt.step = state, now
                attempt.steps_per_second = pace.steps_per_second(now)
                attempt.seconds = before + pace.seconds()
                self._show(attempt, history, look)

    def _show(self, attempt: _Attempt, history: History, look: Look | None) -> None:
        if look is not None:
            attempt.latest = look
            if attempt.target is not None and look.evaluation.nll <= attempt.target:
                attempt.allowed = 0
                attempt.message = (
                    f"the test loss reached {attempt.target:.3f} nats at step {look.step:,}"
                )
                attempt.target = None
            if look.step in attempt.plan.tests:
                history = history.with_test(look.step, look.evaluation)
            if look.step in attempt.plan.checkpoints:
                history = history.with_checkpoint(look.step, look.model)
        attempt.history = history

    def _fail(self, attempt: _Attempt, losses: Losses, bad: int) -> None:
        """End a run whose loss is not finite `bad` steps into a chunk, at the step before."""
        setup, training = attempt.setup, attempt.experiment.training
        start = attempt.train
        if bad == 0 and attempt.earlier is not None:
            start = attempt.earlier
        step = max(attempt.step + bad - 1, int(start.step))
        state, _ = advance(
            start, setup.source, training, key=setup.key, steps=step - int(start.step)
        )
        # The newest look may be of weights that were taken back. Those kept may already be so
        # large that their test overflows; then the last good look stays.
        look = _look(attempt, setup, state)
        if not math.isfinite(look.evaluation.nll):
            look = attempt.latest
        message = (
            f"The loss is not a finite number at step {attempt.step + bad:,}; the weights of step "
            f"{step:,} are kept. The likely remedy: lower `learning_rate`, which is "
            f"{training.learning_rate:g}, then reset."
        )
        with self._lock:
            attempt.train, attempt.step, attempt.latest = state, step, look
            attempt.history = attempt.history.with_losses(losses.nll).until(step)
            self._end(attempt, "failed", message)

    def _end(self, attempt: _Attempt, state: str, message: str) -> None:
        attempt.state, attempt.message, attempt.thread = state, message, None
        attempt.place.leave()


def _amendment(before: Experiment, after: Experiment) -> str:
    """What changes, in words. Refused: a difference that needs another model or other data."""
    old, new = before.training, after.training
    kept = {name: getattr(old, name) for name in AMENDABLE}
    training = dataclasses.replace(new, **kept)
    if dataclasses.replace(after, training=training) != before:
        names = ", ".join(f"`{name}`" for name in AMENDABLE)
        raise ValueError(f"A run goes on only with another {names}. Reset to change the rest.")
    return ", ".join(
        f"{name.replace('_', ' ')} {kept[name]:g} → {getattr(new, name):g}"
        for name in AMENDABLE
        if kept[name] != getattr(new, name)
    )


def _look(attempt: _Attempt, setup: Setup, state: TrainState) -> Look:
    readout = attempt.experiment.training.readout
    return Look(
        step=int(state.step),
        evaluation=evaluate(state.model, setup.test, readout=readout),
        model=state.model,
    )


def _first_bad(state: TrainState, losses: Losses) -> int | None:
    """After how many steps of the chunk something was not finite, if anything was."""
    finite = np.isfinite(losses.nll) & np.isfinite(losses.objective)
    if not finite.all():
        return int(np.argmin(finite))
    return None if is_finite(state.model) else len(finite)
