"""How long it takes from Start to the first point of the curve."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from attnlab import Experiment, LiveRun
from benchmarks.timing import Figure, in_turns, spread

_ROUNDS = 5
_PATIENCE = 120.0
_POLL = 0.001

_IN_A_FRESH_PROCESS = """
from attnlab import Experiment
from benchmarks.first_point import seconds_to_first_point
print(*(seconds_to_first_point(Experiment(length=length)) for length in {lengths}))
"""


def seconds_to_first_point(experiment: Experiment) -> float:
    """From Start until a snapshot has a tested point; the run is then paused."""
    run = LiveRun(experiment)
    began = time.perf_counter()
    run.start()
    while not run.snapshot().history.tests:
        if run.snapshot().state == "failed" or time.perf_counter() - began > _PATIENCE:
            raise RuntimeError(f"No point came: {run.snapshot().message or 'out of patience'}")
        time.sleep(_POLL)
    seconds = time.perf_counter() - began
    run.pause()
    run.wait(_PATIENCE)
    return seconds


def _in_a_fresh_process(lengths: tuple[int, ...], cache: str | None = None) -> list[float]:
    environment = {
        name: value for name, value in os.environ.items() if "COMPILATION_CACHE" not in name
    }
    if cache is not None:
        environment |= {
            "JAX_COMPILATION_CACHE_DIR": cache,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
    done = subprocess.run(
        [sys.executable, "-c", _IN_A_FRESH_PROCESS.format(lengths=lengths)],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return [float(word) for word in done.stdout.split()]


def _rows() -> Iterator[str]:
    usual = Experiment().length
    both = (usual, usual + 2)
    with tempfile.TemporaryDirectory() as cache:
        # Fills the cache.
        _in_a_fresh_process((usual,), cache)
        seconds = in_turns(
            {
                "cold": lambda: _in_a_fresh_process(both),
                "warm": lambda: _in_a_fresh_process((usual,), cache),
            },
            rounds=_ROUNDS,
        )
    cold, changed = zip(*seconds["cold"], strict=True)
    warm = [first for (first,) in seconds["warm"]]
    yield f"cold, no compilation cache              {spread(cold, '.2f')} s   target ≤ 2.5 s"
    yield f"warm, compiled by an earlier process    {spread(warm, '.2f')} s   target ≤ 1.0 s"
    yield f"another length in the process of cold   {spread(changed, '.2f')} s"


FIGURE = Figure("Start to first point of the curve, default experiment, engine imported", _rows)
