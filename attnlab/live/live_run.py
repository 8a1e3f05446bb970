"""A run that trains in the background while somebody watches. Knows nothing of Streamlit."""

import threading

import numpy as np
from jaxtyping import Int

from attnlab.live.attempt import Attempt
from attnlab.live.programs import Programs
from attnlab.live.queueing import WorkQueue
from attnlab.live.trainer import Trainer
from attnlab.runs.snapshot import Snapshot
from attnlab.runs.storage import Run
from attnlab.training.experiment import Experiment


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
        self._attempt = Attempt(experiment)

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
            self._attempt.stop()

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
            new = Attempt(experiment or old.experiment)
            if new.experiment == old.experiment:
                new.setup = old.setup
            self._replace_attempt(new)

    def amend(self, experiment: Experiment) -> None:
        """Go on as another experiment, which differs in `AMENDABLE` options of its training alone.

        The model is kept, and the history tells of the change. Nothing happens unless the run is
        paused or done. Refused: other differences, fewer steps than were made, and more changes
        than a history has.
        """
        with self._lock:
            self._attempt.amend(experiment)

    def resume(self, run: Run) -> None:
        """Put a stored run in the place of this one; it comes up paused, or done."""
        attempt = Attempt(run.experiment)
        attempt.train, attempt.history, attempt.step = run.state, run.history, int(run.state.step)
        with self._lock:
            self._replace_attempt(attempt)
            self._see_to_it()

    def snapshot(self) -> Snapshot:
        """What there is to see now. A run that nobody looks at may have to make way."""
        with self._lock:
            if self._attempt.place is not None:
                self._attempt.place.watch()
            return self._attempt.snapshot()

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

    def _replace_attempt(self, attempt: Attempt) -> None:
        # The old thread ends by itself after its chunk, and writes to the old attempt alone.
        self._attempt.stop()
        self._attempt = attempt

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
        trainer = Trainer(attempt, self._lock, self._programs, self._queue)
        attempt.thread = threading.Thread(target=trainer.work, name="attnlab-run", daemon=True)
        attempt.thread.start()
