"""A run that trains in the background while it is watched, without Streamlit."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jaxtyping import Int

from attnlab.configuration.cancellation import Stopped
from attnlab.configuration.options import present
from attnlab.live.jobs import Job, Ticket, WorkQueue
from attnlab.live.progress import Autosave, Pace, RunProgress, Save, SharedRuns
from attnlab.models import parameter_count
from attnlab.runs.run import Run
from attnlab.runs.run_summary import RunSummary
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import Experiment, Setup, abstract_state, prepare, source_of
from attnlab.training.loop import EvaluationEvent, Event, NotFiniteError, evaluate_state, run
from attnlab.training.steps import advance


class LiveRun:
    """One experiment, trained in a thread that exists only while there is something to do.

    All methods are thread-safe and idempotent; only `wait` blocks. States: idle → compiling →
    running ⇄ paused → done or failed. A run that waits in the queue has the state "compiling" and a
    message with its position.

    Args:
        experiment: The experiment to train.
        queue: The queue in which it waits for its turn.
        keep: Called in the training thread when the run pauses, ends or fails, and every ten
            seconds. Takes the result, and the last return value of `keep` for this run.
        shared: Finished runs of the server. If it is given, an equal run that is stored there, or
            that is training in `queue`, is not trained again.
    """

    def __init__(
        self,
        experiment: Experiment,
        *,
        queue: WorkQueue | None = None,
        keep: Save | None = None,
        shared: SharedRuns | None = None,
    ):
        self._lock = threading.Lock()
        self._queue = queue or WorkQueue()
        self._keep, self._shared = keep, shared
        self._speed: float | None = None
        self._begin_with(RunProgress(experiment, Autosave(keep)))

    def _begin_with(self, progress: RunProgress) -> None:
        self._progress = progress
        self._begun = self._compiled = False
        # How many more steps may be taken: 0 asks for a pause, None sets no limit.
        self._allowed: int | None = 0
        self._make_job()

    def _make_job(self) -> None:
        progress, shared = self._progress, self._shared

        def rest() -> float:
            return 0.0 if progress.pace is None else progress.pace.rest()

        def join(queue: WorkQueue) -> Ticket:
            if shared is None or not self._shares(progress):
                return queue.join()
            return queue.join(progress.experiment, is_known=shared.__contains__)

        def may_pause() -> bool:
            return progress.latest is not None and progress.latest.step == progress.step

        job = Job(
            lambda: self._train(progress, job),
            queue=self._queue,
            rest=rest,
            name="attnlab-run",
            join=join,
            may_pause=may_pause,
            at_rest=lambda error: self._autosave(progress, error),
        )
        self._job = job

    @property
    def experiment(self) -> Experiment:
        """The experiment that is trained."""
        return self._progress.experiment

    @property
    def autosave(self) -> Autosave:
        """The autosave of the run."""
        return self._progress.autosave

    def start(self) -> None:
        """Train to the last step. Does nothing if the run is done or failed."""
        with self._lock:
            self._allow(None)

    def pause(self) -> None:
        """Stop after the current chunk of steps, and keep everything."""
        with self._lock:
            self._allowed = 0
            self._job.pause()

    def step(self) -> None:
        """Pause, then take exactly one more step; n calls during a pause take n steps."""
        with self._lock:
            self._allow((self._allowed or 0) + 1)

    def stop_at(self, test_nll: float | None) -> None:
        """Pause once a test loss is at most `test_nll`, in nats; None sets no target.

        A target that some test of the run has already reached is ignored, so that the run can be
        continued even if its loss has risen above the target since.
        """
        with self._lock:
            progress = self._progress
            tests = (evaluation.nll for _, evaluation in progress.history.tests)
            had = test_nll is not None and any(nll <= test_nll for nll in tests)
            progress.target = None if had or progress.reached(test_nll) else test_nll

    def set_speed(self, steps_per_second: float | None) -> None:
        """Limit the steps per second from now on; None sets no limit."""
        with self._lock:
            self._speed = steps_per_second
            if self._progress.pace:
                self._progress.pace.limit = steps_per_second
            if steps_per_second is not None and (ticket := self._job.ticket):
                # Others need not wait for a run that is slow to be watched.
                ticket.stop_sharing()

    def reset(self, experiment: Experiment | None = None) -> None:
        """Go back to step 0: with the same data and weights, or with another experiment."""
        with self._lock:
            # The old thread ends after its chunk, without changing this run.
            self._job.pause()
            before = self._progress
            setup = before.setup if experiment in (None, before.experiment) else None
            experiment = experiment or before.experiment
            self._begin_with(RunProgress(experiment, Autosave(self._keep), setup))

    def discard(self) -> None:
        """Free the data, model and history; the run is then one that never started."""
        with self._lock:
            self._job.pause()
            self._begin_with(RunProgress(self.experiment, Autosave(self._keep)))

    def amend(self, experiment: Experiment) -> None:
        """Change settings of the training during the run, and pause it.

        The model is kept, and the history records the change. Does nothing before the first
        evaluation, or after a failure.

        Raises:
            ValueError: If options other than those in `AMENDABLE` differ, fewer steps are requested
                than were taken, or the history has no room for another change.
        """
        with self._lock:
            if self._state() not in ("running", "paused", "done") or self._progress.setup is None:
                return
            self._progress.amend(experiment)
            # What is being computed now is computed again with the new settings.
            self._job.pause()
            self._allowed = 0
            self._make_job()

    def resume(self, run: Run, *, autosave: Autosave | None = None, seconds: float = 0.0) -> None:
        """Replace this run by a stored one, which is then paused or done.

        Args:
            run: The stored run.
            autosave: The autosave that saved it before; None saves it as a new run. It is saved
                again only once it has more steps.
            seconds: The training time of the stored run so far.
        """
        autosave = autosave or Autosave(self._keep)
        autosave.leave_out(int(run.state.step), len(run.history.changes))
        with self._lock:
            self._job.pause()
            experiment, state, history = run
            self._begin_with(
                RunProgress(experiment, autosave, None, state, history=history, seconds=seconds)
            )
            self._allow(0)

    def snapshot(self) -> Snapshot:
        """Return the current state, and count as a viewer."""
        with self._lock:
            state, ticket, progress = self._job.state(), self._job.ticket, self._progress
            message = progress.failure or state.error or progress.message
            if state.running:
                message = message or (ticket.message() if ticket else "")
                # Nothing can end a compilation.
                if not self._compiled and self._job.is_stopping():
                    message = f"{message or 'compiling'}, then it pauses"
            elif not message and state.message:
                message = f"{state.message}: press Continue"
            return Snapshot(
                experiment=progress.experiment,
                state=self._state(),
                step=progress.step,
                history=progress.history,
                latest=progress.latest,
                probes=None if progress.setup is None else np.asarray(progress.setup.probes),
                parameters=0 if progress.state is None else parameter_count(progress.state.model),
                steps_per_second=progress.steps_per_second,
                seconds=progress.seconds,
                message=message,
                in_queue=ticket.number if ticket else 0,
                has_twin=ticket is not None and ticket.number > 0 and ticket.has_twin(),
            )

    def summary(self) -> RunSummary | None:
        """Return the run in numbers, with its model, or None before its first evaluation."""
        with self._lock:
            return self._progress.summary(self._progress.stored(), self._job.state().error)

    def stored(self) -> Run | None:
        """Return the run as it can be saved, or None before anything was computed."""
        with self._lock:
            return self._progress.stored()

    @property
    def setup(self) -> Setup | None:
        """The prepared experiment, or None before its data were drawn."""
        return self._progress.setup

    def test_sequences(self) -> Int[np.ndarray, "test days"] | None:
        """Return the test sequences, or None before they were drawn."""
        setup = self._progress.setup
        return None if setup is None else np.asarray(setup.test)

    def wait(self, timeout: float) -> bool:
        """Wait until no thread trains this run; False if that takes longer than `timeout`."""
        return self._job.wait(timeout)

    def _state(self) -> str:
        state, ticket = self._job.state(), self._job.ticket
        if self._progress.failure or state.error:
            return "failed"
        if state.running:
            return "running" if self._compiled and not (ticket and ticket.number) else "compiling"
        if not self._begun:
            return "idle"
        return "done" if self._progress.at_end else "paused"

    def _allow(self, steps: int | None) -> None:
        if not self._job.state().running:
            self._progress.message, self._progress.pace = "", None
        self._allowed, self._begun = steps, True
        if steps is not None and (ticket := self._job.ticket):
            ticket.stop_sharing()
        self._job.start()

    def _shares(self, progress: RunProgress) -> bool:
        """Return whether the run may be replaced by an equal one that is finished."""
        is_new = progress.is_trained_here and progress.latest is None
        is_whole = self._allowed is None and self._speed is None and progress.target is None
        return self._shared is not None and is_new and is_whole

    @contextmanager
    def _of(self, job: Job) -> Iterator[None]:
        """Hold the lock; raise `Stopped` in a job that was replaced."""
        with self._lock:
            if job is not self._job:
                raise Stopped
            yield

    def _train(self, progress: RunProgress, job: Job) -> Iterator[None]:
        """Train to the end of the run; yield wherever it may pause."""
        experiment, setup, state = progress.experiment, progress.setup, progress.state
        with self._of(job):
            # An equal run may be finished.
            shared = self._shared if self._shares(progress) else None
            if shared is not None and (found := shared.get(experiment)) is not None:
                progress.take_over(found)
                return
        compiling = None
        if progress.latest is None:
            with self._of(job):
                progress.message = "generating data (1 of 3)"
            setup = setup or prepare(experiment)
            state = state or setup.state
            if progress.step < experiment.training.steps:
                # The training program, the largest, while the initial weights are evaluated.
                pool = ThreadPoolExecutor(1, thread_name_prefix="attnlab-compile")
                compiling = pool.submit(compile_steps, experiment)
                pool.shutdown(wait=False)
            with self._of(job):
                weights = "saved" if progress.step else "initial"
                progress.message = f"testing the {weights} weights (2 of 3)"
                progress.setup = setup
            if progress.step > 0:
                self._take(job, evaluate_state(state, setup, experiment.training, progress.plan))
                yield
        try:
            chunk = lambda: self._next_chunk(job, compiling)  # noqa: E731
            for event in run(experiment, state, setup=setup, chunk=chunk):
                self._take(job, event)
                yield
        except NotFiniteError as error:
            event = evaluate_state(
                error.state, present(progress.setup), experiment.training, progress.plan
            )
            with self._of(job):
                progress.fail(error, event)
        with self._of(job):
            if self._shared is not None and progress.is_finished:
                self._shared.put(progress)

    def _next_chunk(self, job: Job, compiling: Future | None) -> int:
        """Return the number of steps in the next chunk; 0 requests an evaluation."""
        if compiling is not None:
            compiling.result()
        with self._of(job):
            self._compiled = True
            progress = self._progress
            if progress.pace is None:
                progress.pace = Pace(progress.step, spent=progress.seconds)
                progress.pace.limit = self._speed
            pace = progress.pace
            if job.is_stopping() or pace.evaluation_is_due():
                return 0
            steps = min(pace.chunk, progress.plan.next_after(progress.step) - progress.step)
            if self._allowed is not None:
                steps = min(steps, self._allowed)
                self._allowed -= steps
            pace.begin_chunk()
            return steps

    def _take(self, job: Job, event: Event) -> None:
        with self._of(job):
            progress = self._progress
            progress.take(event)
            if isinstance(event, EvaluationEvent) and progress.reached(progress.target):
                progress.message = (
                    f"the test loss reached {progress.target:.3f} nats at step {event.step:,}"
                )
                progress.target = None
                self._allowed = 0
            if self._allowed == 0:
                job.pause()
        if isinstance(event, EvaluationEvent) and progress.autosave.is_due():
            self._autosave(progress)

    def _autosave(self, progress: RunProgress, error: str = "") -> None:
        def tested() -> RunSummary | None:
            with self._lock:
                summary = progress.summary(progress.tested, error)
                return summary if summary is not None and summary.steps else None

        progress.autosave.take(tested)


def compile_steps(experiment: Experiment) -> None:
    """Compile the training program of an experiment."""

    # Weights and data of the right shapes, filled by NumPy: JAX would compile a fill per shape.
    def zeros(leaf: Any) -> Any:
        is_shape = isinstance(leaf, jax.ShapeDtypeStruct)
        return jax.device_put(np.zeros(leaf.shape, leaf.dtype)) if is_shape else leaf

    state = jax.tree.map(zeros, abstract_state(experiment))
    size = experiment.training.train_size, experiment.length + 1
    source = source_of(experiment, zeros(jax.ShapeDtypeStruct(size, np.int32)))
    advance(state, source, experiment.training, key=jax.random.key(0), steps=0)
