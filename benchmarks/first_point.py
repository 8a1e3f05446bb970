"""How long it takes from Start to the first point of the curve."""

import dataclasses
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from attnlab import Experiment, LiveRun, Training
from attnlab.models import TransformerOptions
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import to_json
from benchmarks.timing import Figure, in_turns, spread

_ROUNDS = 5
_PATIENCE = 120.0
_POLL = 0.001

_DEPTHS = (1, 2, 4, 8)
_DEPTH_ROUNDS = 3

_IN_A_FRESH_PROCESS = """
import sys
from attnlab.training.experiment import from_json
from benchmarks.first_point import seconds_to_first
for line in sys.stdin:
    print(*seconds_to_first(from_json(line)))
"""
# The training program alone, which is the largest.
_COMPILED_ALONE = """
import sys
from attnlab.training.experiment import from_json, prepare
from attnlab import advance
from attnlab.training.experiment import to_json
from benchmarks.timing import seconds_of
experiment = from_json(sys.stdin.read())
setup = prepare(experiment)
print(seconds_of(
    lambda: advance(setup.state, setup.source, experiment.training, key=setup.key, steps=0)
))
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


def _in_a_fresh_process(
    script: str, *experiments: Experiment, cache: str | None = None
) -> list[list[float]]:
    """The numbers that it prints, by line, when given the experiments as lines of JSON."""
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
        [sys.executable, "-c", script],
        input="\n".join(map(to_json, experiments)),
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return [[float(number) for number in line.split()] for line in done.stdout.splitlines()]


def _firsts(*experiments: Experiment, cache: str | None = None) -> list[_First]:
    return [
        _First(*line)
        for line in _in_a_fresh_process(_IN_A_FRESH_PROCESS, *experiments, cache=cache)
    ]


def _rows() -> Iterator[str]:
    usual = Experiment()
    both = usual, dataclasses.replace(usual, length=usual.length + 2)
    with tempfile.TemporaryDirectory() as cache:
        # Fills the cache.
        _firsts(usual, cache=cache)
        seconds = in_turns(
            {
                "cold": lambda: _firsts(*both),
                "warm": lambda: _firsts(usual, cache=cache),
            },
            rounds=_ROUNDS,
        )
    cold, changed = zip(*seconds["cold"], strict=True)
    warm = [first for (first,) in seconds["warm"]]
    yield f"cold, no compilation cache              {_spread(cold)}   target ≤ 2.5 s"
    yield f"warm, compiled by an earlier process    {_spread(warm)}   target ≤ 1.0 s"
    yield f"another length in the process of cold   {_spread(changed)}"


def _rows_by_depth() -> Iterator[str]:
    training = dataclasses.replace(Training(), **TransformerOptions.usual_training)
    stacks = {
        layers: Experiment(model=TransformerOptions(layers=layers), training=training)
        for layers in _DEPTHS
    }
    firsts = in_turns(
        {layers: partial(_firsts, stack) for layers, stack in stacks.items()}, rounds=_DEPTH_ROUNDS
    )
    alone = in_turns(
        {
            layers: partial(_in_a_fresh_process, _COMPILED_ALONE, stack)
            for layers, stack in stacks.items()
        },
        rounds=_DEPTH_ROUNDS,
    )
    for layers in _DEPTHS:
        program = spread([seconds for ((seconds,),) in alone[layers]], ".2f")
        target = "   target, training program: ≤ 5 s" if layers == 4 else ""
        yield (
            f"{layers} layer{'s' if layers > 1 else ' '}  {_spread([f for (f,) in firsts[layers]])}"
            f", training program alone {program} s{target}"
        )


def _spread(firsts: Sequence[_First]) -> str:
    points, steps = zip(*firsts, strict=True)
    return f"{spread(points, '.2f')} s, first step {spread(steps, '.2f')} s"


FIGURE = Figure("Start to first point of the curve, default experiment, engine imported", _rows)
BY_DEPTH = Figure(
    "Start to first point of a transformer by its depth, cold, engine imported", _rows_by_depth
)
