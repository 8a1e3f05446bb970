"""The work of a run's thread: its turn, its programs, its steps."""

import logging
import math
import threading

import numpy as np

from attnlab.live.attempt import Attempt
from attnlab.live.pace import Pace
from attnlab.live.programs import Programs
from attnlab.live.queueing import WorkQueue
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import Setup, prepare
from attnlab.training.loop import Look
from attnlab.training.steps import Losses, TrainState, advance, is_finite

_LOG = logging.getLogger(__name__)
_REMEDY = ": press Start to go on"


class Trainer:
    """Trains one attempt, which others read and steer under the same `lock` meanwhile."""

    def __init__(
        self, attempt: Attempt, lock: threading.Lock, programs: Programs, queue: WorkQueue
    ):
        self._attempt = attempt
        self._lock = lock
        self._programs = programs
        self._queue = queue

    def work(self) -> None:
        """Train until it is paused or at its end; any error is kept for those who watch."""
        attempt = self._attempt
        try:
            if not self._take_place():
                return
            if attempt.latest is None:
                self._compile()
            self._train()
        # Whatever goes wrong belongs on the page that watches, not in a dead thread.
        except Exception as error:
            _LOG.exception("A run ended by an error.")
            with self._lock:
                attempt.end("failed", f"{type(error).__name__}: {error}")

    def _take_place(self) -> bool:
        """Wait for the turn of this run; False, and paused, if nobody wants it by then."""
        attempt = self._attempt
        while not attempt.place.wait():
            with self._lock:
                if attempt.allowed == 0:
                    attempt.end("paused", "")
                    return False
                # Paused and started again before this thread could hear of it.
                attempt.place = self._queue.join()
        with self._lock:
            if reason := attempt.place.reason_to_end():
                attempt.end("paused", reason + _REMEDY)
                return False
            if attempt.latest is not None:
                attempt.state = "running"
        return True

    def _compile(self) -> None:
        attempt = self._attempt
        self._say("compiling the programs")
        self._programs.wait_to_begin(attempt.experiment)
        self._say("drawing the data")
        setup = attempt.setup or prepare(attempt.experiment)
        state = attempt.train or setup.state
        self._say("testing the starting weights")
        look = _look(attempt, setup, state)
        with self._lock:
            attempt.setup, attempt.train, attempt.message = setup, state, ""
            attempt.show(attempt.history, look)
        # The largest of them; meanwhile there is something to see.
        self._programs.wait_for(attempt.experiment)
        with self._lock:
            attempt.state = "running"

    def _say(self, message: str) -> None:
        with self._lock:
            self._attempt.message = message

    def _train(self) -> None:
        attempt = self._attempt
        setup, training = attempt.setup, attempt.experiment.training
        pace, before = Pace(attempt.step), attempt.seconds
        while True:
            with self._lock:
                if reason := attempt.place.reason_to_end():
                    attempt.allowed, attempt.message = 0, reason + _REMEDY
                steps = attempt.steps_to_take(pace.chunk)
                if steps == 0 and attempt.latest.step == attempt.step:
                    done = attempt.step >= training.steps
                    attempt.end("done" if done else "paused", attempt.message)
                    return
                if attempt.allowed is not None:
                    attempt.allowed -= steps
            pace.begin()
            state, losses = advance(
                attempt.train, setup.source, training, key=setup.key, steps=steps
            )
            bad = _first_bad(state, losses)
            if bad is not None:
                self._fail(losses, bad)
                return
            pace.stepped(steps)
            history = attempt.history.with_losses(losses.nll)
            now = attempt.step + steps
            look = None
            if now in attempt.plan.tests or steps == 0 or pace.look_is_due():
                look = _look(attempt, setup, state)
                pace.looked()
                if not math.isfinite(look.evaluation.nll):
                    self._fail(losses, steps)
                    return
            with self._lock:
                if steps:
                    attempt.earlier = attempt.train
                attempt.train, attempt.step = state, now
                attempt.steps_per_second = pace.steps_per_second(now)
                attempt.seconds = before + pace.seconds()
                attempt.show(history, look)

    def _fail(self, losses: Losses, bad: int) -> None:
        """End a run whose loss is not finite `bad` steps into a chunk, at the step before."""
        attempt = self._attempt
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
            attempt.end("failed", message)


def _look(attempt: Attempt, setup: Setup, state: TrainState) -> Look:
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
