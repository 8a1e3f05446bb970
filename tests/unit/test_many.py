"""Many runs: each once, here or elsewhere, with the same figures, whatever happens to workers."""

import dataclasses

import numpy as np
import pytest

from attnlab.comparisons.execution.one_run import carry_out, sparse_schedule
from attnlab.comparisons.execution.worker import by_program, carry_out_text, result_from
from attnlab.comparisons.many import run_all
from attnlab.comparisons.processes import Processes
from attnlab.generators.interruption import Stopped, listening
from attnlab.runs.library import Library, LibraryError
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import prepare, to_json
from attnlab.training.limits import Limits
from attnlab.training.loop import train
from tests.unit.small_experiments import SMALL, SMALL_LINEAR, SMALL_TASK
from tests.unit.worker_faults import deadly_processes


def seeds_of(experiment, *seeds):
    return [dataclasses.replace(experiment, seed=seed) for seed in seeds]


def with_training(experiment, **options):
    training = dataclasses.replace(experiment.training, **options)
    return dataclasses.replace(experiment, training=training)


# One that diverges at once.
DIVERGING = with_training(SMALL, learning_rate=1e3, optimiser=SMALL.training.optimiser)


def alone(experiment):
    """Loss and accuracy by the plain loop."""
    setup = prepare(experiment)
    *_, last = train(experiment, setup)
    return evaluate(last.state.model, setup.test, readout=experiment.training.readout)


def test_the_schedule_ends_with_the_last_step_and_keeps_it_alone():
    for steps in (1, 2, 30, 2_000):
        plan = sparse_schedule(steps)
        assert plan.tests[0] == 0
        assert plan.tests[-1] == steps
        assert len(plan.tests) <= 26
        assert plan.checkpoints == (steps,)


@pytest.mark.parametrize("experiment", [SMALL, SMALL_LINEAR], ids=["attention", "linear"])
def test_a_run_carried_out_is_the_run_of_the_plain_loop(experiment):
    result = carry_out(experiment)
    assert (result.state, result.steps) == ("done", experiment.training.steps)
    assert result.evaluation == alone(experiment)
    assert result.tests[-1] == (result.steps, result.evaluation)
    assert [step for step, _ in result.run.history.checkpoints] == [result.steps]


def test_runs_of_one_program_come_one_after_another_and_none_is_lost():
    faster = with_training(SMALL, learning_rate=0.02)
    asked = [*seeds_of(SMALL, 0, 1), *seeds_of(SMALL_LINEAR, 0, 1), *seeds_of(SMALL, 2), faster]
    ordered = by_program(asked)
    assert ordered == [*seeds_of(SMALL, 0, 1, 2), faster, *seeds_of(SMALL_LINEAR, 0, 1)]


@pytest.mark.slow
def test_a_task_that_was_kept_without_its_exact_match_has_it_all_the_same():
    training = dataclasses.replace(SMALL_TASK.training, steps=5)
    experiment = dataclasses.replace(SMALL_TASK, training=training)
    done, library = carry_out(experiment), Library(None)
    assert 0 <= done.exact_match <= 1
    number = library.keep(dataclasses.replace(done, exact_match=None))
    (result,) = run_all([experiment], library=library)
    assert result.exact_match == done.exact_match
    # Nor is it trained or kept again.
    assert library.count() == 1
    assert library.find(experiment).number == number


def test_every_experiment_has_one_result_and_equal_ones_share_it():
    asked = [*seeds_of(SMALL_LINEAR, 0, 1, 0), SMALL]
    results = list(run_all(asked))
    assert [result.experiment for result in results] == [*seeds_of(SMALL_LINEAR, 0, 1), SMALL]
    for result in results:
        assert result.evaluation == alone(result.experiment)


def test_what_a_server_refuses_is_a_row_with_its_reason():
    refused, done = run_all([SMALL, SMALL_LINEAR], limits=Limits(caps={"d_attn": 1}))
    assert (refused.state, refused.experiment, done.state) == ("refused", SMALL, "done")
    assert "`d_attn` is 2" in refused.reason


def test_a_run_that_diverges_is_a_row_with_its_reason_and_the_others_go_on(monkeypatch):
    hopeless = with_training(SMALL, learning_rate=1.0, steps=60)
    monkeypatch.setattr("attnlab.training.loop.is_finite", lambda model: False)
    (failed,) = run_all([hopeless])
    monkeypatch.undo()
    assert failed.state == "failed"
    assert "not a finite number at step" in failed.reason
    assert failed.steps == int(failed.run.state.step)


def test_a_stop_is_heard_within_a_run():
    def stop():
        raise Stopped

    with listening(stop), pytest.raises(Stopped):
        list(run_all([SMALL]))


def test_an_answer_of_a_worker_is_its_result():
    answer = carry_out_text(to_json(SMALL))
    own, told = carry_out(SMALL), result_from(answer)
    assert told.evaluation == own.evaluation
    assert told.tests == own.tests
    assert (told.experiment, told.state, told.steps) == (SMALL, "done", own.steps)
    np.testing.assert_array_equal(told.curve.values, own.curve.values)


def test_what_the_library_holds_is_not_run_again():
    library, asked = Library(None), seeds_of(SMALL_LINEAR, 0, 1, 2)
    results = run_all(asked, library=library)
    first = next(results)
    results.close()
    assert library.count() == 1
    again = list(run_all(asked, library=library))
    assert library.count() == 3
    assert again[0].evaluation == first.evaluation
    assert again[0].seconds == first.seconds
    assert int(library.run_of(library.find(asked[2]).number).state.step) == 60


def test_results_that_cannot_be_kept_are_given_out_and_the_problem_told_at_the_end():
    found = run_all(seeds_of(SMALL_LINEAR, 0, 1), library=Library(None, most_bytes=1))
    assert [next(found).state, next(found).state] == ["done", "done"]
    with pytest.raises(LibraryError):
        next(found)


def test_an_error_of_the_machine_is_a_row_and_the_others_go_on(monkeypatch):
    plain = carry_out

    def too_large(experiment):
        if experiment.seed == 0:
            raise MemoryError("no room for 9 GB")
        return plain(experiment)

    monkeypatch.setattr("attnlab.comparisons.many.carry_out", too_large)
    failed, done = run_all(seeds_of(SMALL_LINEAR, 0, 1))
    assert (failed.state, failed.reason) == ("failed", "MemoryError: no room for 9 GB")
    assert done.state == "done"


@pytest.mark.slow
def test_processes_give_the_same_figures():
    asked = [*seeds_of(SMALL_LINEAR, 0, 1), SMALL]
    with Processes(2) as pool:
        results = list(run_all(asked, pool))
    assert {result.experiment for result in results} == set(asked)
    for result in results:
        assert result.evaluation == alone(result.experiment)


@pytest.mark.slow
def test_what_is_lost_with_a_worker_is_tried_again_and_what_kills_twice_is_a_row(tmp_path):
    asked = seeds_of(SMALL_LINEAR, 0, 1, 2, 3)
    once, always = tmp_path / "once", tmp_path / "always"
    once.mkdir()
    always.mkdir()
    with deadly_processes(2, once, seed=1, times=1) as pool:
        after_one = list(run_all(asked, pool))
    with deadly_processes(2, always, seed=1, times=9) as pool:
        after_all = list(run_all(asked, pool))
    assert {result.experiment for result in after_one} == set(asked)
    assert {result.state for result in after_one} == {"done"}
    states = {result.experiment.seed: result.state for result in after_all}
    assert states == {0: "done", 1: "failed", 2: "done", 3: "done"}
    (lost,) = [result for result in after_all if result.state == "failed"]
    assert "killed twice" in lost.reason
