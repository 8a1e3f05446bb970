"""How long it takes from Start to the first point of the curve."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from attnlab import Experiment, LiveRun
from attnlab.runs.snapshot import Snapshot
from benchmarks.timing import Figure, in_turns, spread

_ROUNDS = 5
_PATIENCE = 120.0
_POLL = 0.001

_IN_A_FRESH_PROCESS = """
from attnlab import Experiment
from benchmarks.first_point import seconds_to_first
for length in {lengths}:
    print(*seconds_to_first(Experiment(length=length)))
"""


class _First(NamedTuple):
    """Seconds from Start: to the test of the starting weights, and to the first training step."""

    point: float
    step: float


def seconds_to_first(experiment: Experiment) -> _First:
    """From Start until a snapshot has a tested point, and a step; the run is then paused."""
    run = LiveRun(experiment)
    began = time.perf_counter()

    def seconds_until(seen: Callable[[Snapshot], bool]) -> float:
        while not seen(run.snapshot()):
            if run.snapshot().state == "failed" or time.perf_counter() - began > _PATIENCE:
                raise RuntimeError(f"No point came: {run.snapshot().message or 'out of patience'}")
            time.sleep(_POLL)
        return time.perf_counter() - began

    run.start()
    first = _First(
        point=seconds_until(lambda snapshot: bool(snapshot.history.tests)),
        step=seconds_until(lambda snapshot: snapshot.step > 0),
    )
    run.pause()
    run.wait(_PATIENCE)
    return first


def _in_a_fresh_process(lengths: tuple[int, ...], cache: str | None = None) -> list[_First]:
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
    return [_First(*map(float, line.split())) for line in done.stdout.splitlines()]


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
    yield f"cold, no compilation cache              {_spread(cold)}   target ≤ 2.5 s"
    yield f"warm, compiled by an earlier process    {_spread(warm)}   target ≤ 1.0 s"
    yield f"another length in the process of cold   {_spread(changed)}"


def _spread(firsts: Sequence[_First]) -> str:
    points, steps = zip(*firsts, strict=True)
    return f"{spread(points, '.2f')} s, first step {spread(steps, '.2f')} s"


FIGURE = Figure("Start to first point of the curve, default experiment, engine imported", _rows)
