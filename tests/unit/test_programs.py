"""Programs that were made ready are those that a run then uses."""

import dataclasses
import threading

import jax
import numpy as np
import pytest

import attnlab.live.programs
from attnlab.live.programs import Programs
from attnlab.live.starting_point import without_course
from attnlab.models import LinearOptions
from attnlab.models.inside import mean_trace, trace_of
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import Experiment, build_model, prepare
from attnlab.training.steps import Training, advance

# Sizes that no other test uses, so that nothing is compiled before.
CASES = {
    "attention": Experiment(length=7, training=Training(test_size=311, train_size=207, batch=13)),
    "linear": Experiment(
        length=7, model=LinearOptions(), training=Training(test_size=312, train_size=208, batch=14)
    ),
    "fresh": Experiment(length=7, training=Training(test_size=313, data="fresh", batch=15)),
    "full": Experiment(
        length=7, training=Training(test_size=314, train_size=209, batch_mode="full")
    ),
}


def _run_a_little(experiment: Experiment) -> None:
    setup, training = prepare(experiment), experiment.training
    state, _ = advance(setup.state, setup.source, training, key=setup.key, steps=3)
    evaluate(state.model, setup.test, readout=training.readout)
    trace_of(state.model, np.asarray(setup.probes)[3])
    mean_trace(state.model, setup.probes)


def _compilations(work) -> list[str]:
    """Names of the programs that were compiled meanwhile."""
    names = []

    def note(event: str, _seconds: float, **about) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            names.append(about.get("fun_name"))

    jax.monitoring.register_event_duration_secs_listener(note)
    try:
        work()
    finally:
        jax.monitoring.unregister_event_duration_listener(note)
    return names


@pytest.mark.slow
@pytest.mark.parametrize("experiment", CASES.values(), ids=CASES)
def test_a_run_compiles_nothing_more(experiment):
    Programs().wait_for(experiment)
    assert _compilations(lambda: _run_a_little(experiment)) == []


def test_seed_rate_and_steps_need_no_other_programs():
    experiment = CASES["attention"]
    Programs().wait_for(experiment)
    other = dataclasses.replace(
        experiment, seed=3, training=dataclasses.replace(experiment.training, steps=7)
    )
    assert _compilations(lambda: _run_a_little(other)) == []


def test_a_run_can_begin_before_the_training_program_is_there(monkeypatch):
    may_go_on, made = threading.Event(), []

    def compile_steps(experiment: Experiment) -> None:
        may_go_on.wait(60.0)
        made.append(experiment)

    beginning = attnlab.live.programs._COMPILE_BEGINNING
    monkeypatch.setattr("attnlab.live.programs._COMPILE", (*beginning, compile_steps))
    programs, experiment = Programs(), CASES["linear"]
    programs.ask_for(experiment)
    try:
        programs.wait_to_begin(experiment)
        assert not made
    finally:
        may_go_on.set()
    programs.wait_for(experiment)
    assert len(made) == 1


def test_an_untrained_model_needs_no_training_program(monkeypatch):
    begun = []
    beginning = attnlab.live.programs._COMPILE_BEGINNING
    monkeypatch.setattr("attnlab.live.programs._COMPILE", (*beginning, begun.append))
    programs, experiment = Programs(), CASES["fresh"]
    programs.wait_to_begin(without_course(experiment))
    # They are begun with in the order in which they are asked for.
    programs.wait_for(experiment)
    assert [shapes.training.batch for shapes in begun] == [experiment.training.batch]


def test_making_ready_does_not_change_a_run():
    experiment = CASES["attention"]
    before = jax.tree.leaves(build_model(experiment).query)
    Programs().wait_for(experiment)
    after = jax.tree.leaves(build_model(experiment).query)
    assert all((a == b).all() for a, b in zip(before, after, strict=True))


def test_what_is_given_up_can_be_waited_for(monkeypatch):
    made, may_go_on = [], threading.Event()

    def make(experiment: Experiment) -> None:
        may_go_on.wait(60.0)
        made.append(experiment.length)

    monkeypatch.setattr(
        "attnlab.live.programs._COMPILE", (make, lambda experiment: make(experiment))
    )
    programs = Programs()
    for length in (3, 4, 5):
        programs.want(Experiment(length=length))
    waiting = threading.Thread(target=programs.wait_for, args=(Experiment(length=5),))
    waiting.start()
    programs.want(Experiment(length=6))
    may_go_on.set()
    waiting.join(60.0)
    assert not waiting.is_alive()
    # Nobody ever came to 4, which was wanted no more before anybody was free for it.
    assert sorted(set(made) - {6}) == [3, 5]


def test_what_cannot_be_compiled_is_told(monkeypatch):
    def broken(*_arguments):
        raise MemoryError("too large")

    monkeypatch.setattr("attnlab.live.programs.prepare", broken)
    with pytest.raises(MemoryError, match="too large"):
        Programs().wait_for(Experiment(length=9, seed=1, training=Training(test_size=315)))


def test_compiled_programs_have_a_bound(monkeypatch):
    made, dropped = [], []
    monkeypatch.setattr(
        "attnlab.live.programs._COMPILE", (lambda experiment: made.append(experiment),)
    )
    monkeypatch.setattr("attnlab.live.programs.jax.clear_caches", lambda: dropped.append(len(made)))
    programs = Programs()
    for length in range(2, 20):
        programs.want(Experiment(length=length))
        programs.wait_for(Experiment(length=length))
    # Before the ninth shape and the seventeenth.
    assert dropped == [8, 16]
