"""Training with the page open and drawn again and again, against the same run by itself."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from attnlab import Experiment, LiveRun, Training
from benchmarks.script_runs import opened_app
from benchmarks.timing import Figure, in_turns, ratio, spread

_ROUNDS = 5
_SECONDS = 4.0
# As often as the page asks for a new picture.
_EVERY = 0.25
_STEPS = 100_000
_PATIENCE = 120.0


def _rate(run: LiveRun) -> float:
    """Steps/s over some seconds of a run that is under way."""
    before, began = run.snapshot().step, time.perf_counter()
    time.sleep(_SECONDS)
    return (run.snapshot().step - before) / (time.perf_counter() - began)


@contextmanager
def _started(run: LiveRun) -> Iterator[LiveRun]:
    # From the beginning each time, so that the end never comes.
    run.reset(Experiment(training=Training(steps=_STEPS)))
    run.start()
    deadline = time.perf_counter() + _PATIENCE
    while run.snapshot().step < 1:
        if run.snapshot().state == "failed" or time.perf_counter() > deadline:
            raise RuntimeError(f"The run did not start: {run.snapshot().message}")
        time.sleep(0.01)
    yield run
    run.pause()
    run.wait(_PATIENCE)


def _rows() -> Iterator[str]:
    app = opened_app()
    run = app.session_state["session"].run
    drawn = []

    def draw_until(over: threading.Event) -> None:
        while not over.wait(_EVERY):
            began = time.perf_counter()
            app.run()
            drawn.append(time.perf_counter() - began)

    def watched() -> float:
        over = threading.Event()
        page = threading.Thread(target=draw_until, args=(over,))
        with _started(run):
            page.start()
            rate = _rate(run)
            over.set()
            page.join()
        return rate

    def headless() -> float:
        with _started(run):
            return _rate(run)

    rates = in_turns({"watched": watched, "headless": headless}, rounds=_ROUNDS)
    yield f"page open    {spread(rates['watched'])} steps/s"
    yield f"headless     {spread(rates['headless'])} steps/s"
    yield f"ratio        {ratio(rates['watched'], rates['headless'])}   target ≥ 0.8 ×"
    yield f"a picture of the whole page took {spread(drawn, '.2f')} s, {_EVERY} s before the next"


FIGURE = Figure(
    "steps/s with the Train page drawn in full again and again in the same process (no "
    "browser; more than the server does, which draws its moving part), against the run alone",
    _rows,
)
