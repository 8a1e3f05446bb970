"""Fixtures of the unit tests."""

import threading
import warnings

import jax
import jaxtyping
import pytest

import attnlab.live.live_run
from attnlab.live.live_run import LiveRun
from attnlab.runs.library import Library
from tests import WrongTypeWarning
from tests.unit.live_runs import PATIENCE, training_threads, until
from tests.unit.small_experiments import SMALL


@pytest.fixture
def as_users_run():
    """Without the shape checks, which would answer a value of wrong type before attnlab can."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WrongTypeWarning)
        yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture(scope="module")
def quickly_compiled():
    """Programs that run once are compiled without most optimisations, in a fraction of the time."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture
def library(tmp_path):
    """One in a folder of its own."""
    return Library(tmp_path / "library")


@pytest.fixture
def live():
    """Makes live runs, and sees that none leaves a thread behind."""
    runs = []

    def make(experiment=SMALL, **options):
        runs.append(LiveRun(experiment, **options))
        return runs[-1]

    yield make
    for run in runs:
        run.pause()
    until(lambda: not training_threads())


@pytest.fixture
def held(monkeypatch):
    """Holds runs back at the beginning of their compilation until it is set."""
    gate, prepare = threading.Event(), attnlab.live.live_run.prepare

    def held_prepare(experiment):
        assert gate.wait(PATIENCE)
        return prepare(experiment)

    monkeypatch.setattr(attnlab.live.live_run, "prepare", held_prepare)
    yield gate
    gate.set()


@pytest.fixture
def run(capsys):
    """Runs one command; (status, standard output, standard error)."""

    # Here: most tests have no use for the command line.
    from attnlab.command_line.cli import main

    def run_command(*arguments):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code
        seen = capsys.readouterr()
        return status, seen.out, seen.err

    return run_command
