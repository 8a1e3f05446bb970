"""Many runs on a Dask cluster: the work of a lost worker is computed again."""

import dataclasses
import os
import signal
import subprocess
import sys
from contextlib import ExitStack

import pytest
from distributed import Client, LocalCluster

from attnlab.comparisons.many import run_all
from attnlab.runs.library import Library
from tests.unit.small_experiments import SMALL_LINEAR, small

pytestmark = pytest.mark.slow

ASKED = [dataclasses.replace(SMALL_LINEAR, seed=seed) for seed in range(6)]
# So long that none ends while the result of another is fetched: of one that has, Dask may fetch the
# result for ever from a scheduler that is gone.
LONG = [small(SMALL_LINEAR, seed=seed, steps=20_000) for seed in range(3)]


def test_a_worker_that_is_killed_costs_nothing_but_time():
    options = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(n_workers=2, **options) as cluster, Client(cluster) as client:
        workers = list(client.run(os.getpid).values())
        results = []
        for result in run_all(ASKED, client.get_executor(retries=0)):
            results.append(result)
            if len(results) == 1:
                os.kill(workers[0], signal.SIGKILL)
    assert {result.experiment for result in results} == set(ASKED)
    assert {result.state for result in results} == {"done"}
    here = {result.experiment.seed: result.evaluation for result in run_all(ASKED)}
    for result in results:
        # Threads divide sums otherwise, which training carries on.
        assert result.evaluation.nll == pytest.approx(here[result.experiment.seed].nll, abs=1e-3)


@pytest.fixture
def cluster_of_processes(tmp_path):
    """A scheduler and a worker of their own: the scheduler's process, and its address."""
    file = tmp_path / "scheduler.json"
    with ExitStack() as running:
        scheduler = start(
            running, "dask_scheduler", "--host", "127.0.0.1", "--port", "0",
            "--scheduler-file", file, "--no-dashboard",
        )  # fmt: skip
        start(running, "dask_worker", "--scheduler-file", file, "--nthreads", "1",
              "--no-dashboard", "--no-nanny", "--host", "127.0.0.1")  # fmt: skip
        yield scheduler, file


def start(running, program, *arguments):
    command = [sys.executable, "-m", f"distributed.cli.{program}", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    running.callback(process.wait)
    running.callback(process.kill)
    return process


def test_what_ended_before_the_scheduler_was_gone_is_kept_and_the_rest_goes_on(
    cluster_of_processes,
):
    scheduler, file = cluster_of_processes
    library, results = Library(None), []
    with Client(scheduler_file=str(file)) as client:
        for result in run_all(LONG, client.get_executor(retries=0), library=library):
            results.append(result)
            if len(results) == 1:
                scheduler.kill()
    states = [result.state for result in results]
    assert len(states) == len(LONG)
    assert "interrupted" in states
    assert library.count() == states.count("done") > 0
    assert all("Start the comparison again" in result.reason for result in results
               if result.state == "interrupted")  # fmt: skip
    again = list(run_all(LONG, library=library))
    assert {result.state for result in again} == {"done"}
    assert library.count() == len(LONG)
