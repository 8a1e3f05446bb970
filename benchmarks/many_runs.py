"""Many runs: here or in workers, and what a run costs besides its training."""

import dataclasses
from collections.abc import Iterator
from concurrent.futures import Executor, Future

from attnlab import Experiment, LinearOptions, Training
from attnlab.comparisons.many import carry_out_text, run_all
from attnlab.comparisons.processes import Processes
from attnlab.training.experiment import to_json
from benchmarks.timing import Figure, in_turns, seconds_of, spread

_ROUNDS = 3
_RUNS, _WORKERS = 64, 2


def _seeds(experiment: Experiment, count: int, **training: object) -> list[Experiment]:
    changed = dataclasses.replace(experiment.training, test_size=2_000, **training)
    return [dataclasses.replace(experiment, training=changed, seed=seed) for seed in range(count)]


class _AtOnce(Executor):
    """Answers every task at once with the answer to the first."""

    def __init__(self, text: str):
        self._answer = carry_out_text(text)

    def submit(self, function, *arguments):
        future = Future()
        future.set_result(self._answer)
        return future


def _sweep() -> Iterator[str]:
    runs = _seeds(Experiment(), _RUNS, steps=500)

    def here() -> float:
        return seconds_of(lambda: list(run_all(runs)))

    def in_processes() -> float:
        with Processes(_WORKERS) as pool:
            return seconds_of(lambda: list(run_all(runs, pool)))

    ways = {"here": here, f"{_WORKERS} processes": in_processes}
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        yield "dask: skipped, since it is not installed"
    else:

        def in_cluster() -> float:
            options = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
            with LocalCluster(n_workers=_WORKERS, **options) as cluster, Client(cluster) as client:
                executor = client.get_executor(retries=0)
                return seconds_of(lambda: list(run_all(runs, executor)))

        ways["a Dask cluster of two workers"] = in_cluster
    for way, seconds in in_turns(ways, rounds=_ROUNDS).items():
        yield f"{way:<30} {spread([60 * _RUNS / each for each in seconds])} runs a minute"
    yield from _overheads()


def _overheads() -> Iterator[str]:
    tiny = Experiment(model=LinearOptions(), training=Training(steps=1, test_size=100))
    for count in (1_000, 100_000):
        many = _seeds(tiny, count, steps=1)
        at_once = _AtOnce(to_json(many[0]))
        seconds = seconds_of(lambda many=many, pool=at_once: sum(1 for _ in run_all(many, pool)))
        yield f"{count:>7,} runs that return at once: {1e3 * seconds / count:.2f} ms each"


FIGURE = Figure(
    f"a sweep of {_RUNS} runs of one head, 500 steps each, workers started and compiled each time",
    _sweep,
)
