"""A run that trains in the background while somebody watches. Knows nothing of Streamlit."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from jaxtyping import Int

from attnlab.generators.interruption import Stopped
from attnlab.live.background import Background
from attnlab.live.keeping import Keep, Keeping
from attnlab.live.programs import Programs
from attnlab.live.queueing import WorkQueue
from attnlab.live.run_so_far import RunSoFar
from attnlab.runs.result import Result
from attnlab.runs.snapshot import Snapshot
from attnlab.runs.storage import Run
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.loop import Event, Look, NotFiniteError, look_at, run

_REMEDY = ": press Continue"


class LiveRun:
    """One experiment, trained in a thread that exists only while there is something to do.

    Every method may be called from any thread, at any time and any number of times; none but
    `wait` waits for the training thread. States: idle → compiling → running ⇄ paused → done or
    failed. A run that has to wait for its turn in `queue` is compiling, and its message says so.

    `keep` is called in the training thread when the run pauses, ends or fails, and every ten
    seconds while it trains: with what came of it, and with what `keep` gave for it before.
    """

    def __init__(
        self,
        experiment: Experiment,
        *,
        programs: Programs | None = None,
        queue: WorkQueue | None = None,
        keep: Keep | None = None,
    ):
        self._lock = threading.Lock()
        self._programs = programs or Programs()
        self._queue = queue or WorkQueue()
        self._keep = keep
        self._speed: float | None = None
        self._begin_with(RunSoFar(experiment, keeping=Keeping(keep)))

    def _begin_with(self, so_far: RunSoFar) -> None:
        self._so_far = so_far
        self._begun = self._compiled = False
        # How many more steps may be taken: 0 asks for a pause, None sets no limit.
        self._allowed: int | None = 0
        self._make_work()

    def _make_work(self) -> None:
        so_far = self._so_far
        work = Background(
            lambda: self._train(so_far, work),
            queue=self._queue,
            rest=self._rest,
            name="attnlab-run",
            may_pause=lambda: (look := so_far.latest) is not None and look.step == so_far.step,
            at_rest=lambda error: self._keep_so_far(so_far, error),
        )
        self._work = work

    @property
    def experiment(self) -> Experiment:
        """What is trained."""
        return self._so_far.experiment

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

        A target that a test of the run has reached is not set again, so that the run can be
        continued, though its loss may rise above it meanwhile.
        """
        with self._lock:
            self._so_far.aim_at(test_nll)

    def set_speed(self, steps_per_second: float | None) -> None:
        """Make at most so many steps a second, from now on; None makes as many as there can be."""
        with self._lock:
            self._speed = steps_per_second
            if self._so_far.pace:
                self._so_far.pace.limit = steps_per_second

    def reset(self, experiment: Experiment | None = None) -> None:
        """Begin again: with the same data and weights, or with another experiment."""
        with self._lock:
            # The old thread ends by itself after its chunk, and changes nothing here any more.
            self._work.pause()
            before = self._so_far
            same = experiment in (None, before.experiment)
            setup = before.setup if same else None
            experiment, keeping = experiment or before.experiment, Keeping(self._keep)
            self._begin_with(RunSoFar(experiment, setup=setup, keeping=keeping))

    def amend(self, experiment: Experiment) -> None:
        """Go on as another experiment, which differs in `AMENDABLE` options of its training alone.

        The model is kept, the history tells of the change, and the run is paused. Nothing happens
        before the first look, or after a failure. Refused: other differences, fewer steps than were
        made, and more changes than a history has.
        """
        with self._lock:
            if self._state() not in ("running", "paused", "done") or self._so_far.setup is None:
                return
            self._so_far.amend(experiment)
            # What is being computed now is computed anew with the other settings.
            self._work.pause()
            self._allowed = 0
            self._make_work()

    def resume(self, run: Run, *, keeping: Keeping | None = None, seconds: float = 0.0) -> None:
        """Put a stored run in the place of this one; it comes up paused, or done.

        It is kept once it has gone on: where it was kept before, or anew without `keeping`. It was
        trained for so many `seconds`.
        """
        keeping = keeping or Keeping(self._keep)
        keeping.leave_out(int(run.state.step), len(run.history.changes))
        with self._lock:
            self._work.pause()
            experiment, state, history = run
            self._begin_with(
                RunSoFar(experiment, state=state, history=history, keeping=keeping, seconds=seconds)
            )
            self._allow(0)

    def snapshot(self) -> Snapshot:
        """What there is to see now. A run that nobody looks at may have to make way."""
        with self._lock:
            work, place = self._work.state(), self._work.place
            message = self._so_far.failure or work.error or self._so_far.message
            if not message and work.running:
                message = place.message() if place else ""
            elif not message and work.message:
                message = work.message + _REMEDY
            return self._so_far.snapshot(
                state=self._state(), message=message, in_queue=place.number if place else 0
            )

    def stored(self) -> Run | None:
        """The run as it can be saved, or None before anything was computed."""
        with self._lock:
            return self._so_far.stored()

    @property
    def keeping(self) -> Keeping:
        """Where the run is kept."""
        return self._so_far.keeping

    def test_sequences(self) -> Int[np.ndarray, "test days"] | None:
        """The sequences that the run is tested on, or None before they were drawn."""
        setup = self._so_far.setup
        return None if setup is None else np.asarray(setup.test)

    def wait(self, timeout: float) -> bool:
        """Wait until no thread is at work for this run; False if that takes longer."""
        return self._work.wait(timeout)

    def _state(self) -> str:
        work, place = self._work.state(), self._work.place
        if self._so_far.failure or work.error:
            return "failed"
        if work.running:
            return "running" if self._compiled and not (place and place.number) else "compiling"
        if not self._begun:
            return "idle"
        return "done" if self._so_far.at_end else "paused"

    def _allow(self, steps: int | None) -> None:
        if not self._work.state().running:
            self._so_far.message, self._so_far.pace = "", None
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
            self._so_far.message = message

    def _train(self, so_far: RunSoFar, work: Background) -> Iterator[None]:
        """What the thread does: all that is left of the run, with a moment to pause after each."""
        experiment, setup, state = so_far.experiment, so_far.setup, so_far.state
        if so_far.latest is None:
            self._say(work, "compiling the programs")
            self._programs.ask_for(experiment)
            self._programs.wait_to_begin(experiment)
            self._say(work, "drawing the data")
            setup = setup or prepare(experiment)
            state = state or setup.state
            self._say(work, "testing the starting weights")
            with self._of(work):
                so_far.setup = setup
            if so_far.step > 0:
                self._take(work, look_at(state, setup, experiment.training, so_far.plan))
                yield
        try:
            events = run(experiment, state, setup=setup, chunk=lambda: self._next_chunk(work))
            for event in events:
                self._take(work, event)
                yield
        except NotFiniteError as error:
            look = look_at(error.state, so_far.setup, experiment.training, so_far.plan)
            with self._of(work):
                so_far.fail(error, look)

    def _next_chunk(self, work: Background) -> int:
        """How many steps come next: 0 for a look, which also comes before a pause."""
        so_far = self._so_far
        with self._lock:
            compiled = self._compiled
        if not compiled:
            # The largest of them; meanwhile there is something to see.
            self._programs.wait_for(so_far.experiment)
        with self._of(work):
            self._compiled = True
            pace = so_far.set_pace(self._speed)
            if work.is_stopping() or pace.look_is_due():
                return 0
            steps = min(pace.chunk, so_far.plan.next_after(so_far.step) - so_far.step)
            if self._allowed is not None:
                steps = min(steps, self._allowed)
                self._allowed -= steps
            pace.begin()
            return steps

    def _rest(self) -> float:
        pace = self._so_far.pace
        return 0.0 if pace is None else pace.rest()

    def _take(self, work: Background, event: Event) -> None:
        with self._of(work):
            self._so_far.take(event)
            if isinstance(event, Look) and self._so_far.reached_target():
                self._allowed = 0
            if self._allowed == 0:
                work.pause()
            so_far = self._so_far
        if isinstance(event, Look) and so_far.keeping.is_due():
            self._keep_so_far(so_far)

    def _keep_so_far(self, so_far: RunSoFar, error: str = "") -> None:
        def result() -> Result | None:
            with self._lock:
                return so_far.result(error)

        so_far.keeping.take(result)
