"""Many runs: each once, here or elsewhere, with the same figures, whatever happens to workers."""

import dataclasses
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import attnlab
from attnlab.comparisons.many import (
    by_program,
    carry_out,
    carry_out_text,
    result_from,
    run_all,
)
from attnlab.comparisons.processes import Processes
from attnlab.comparisons.recording import sparse_plan
from attnlab.comparisons.summary import summarise
from attnlab.configuration.cancellation import Stopped, listening
from attnlab.configuration.options import OptionError
from attnlab.generators import PROCESSES, TASKS, Markov
from attnlab.models import ALL_MODELS, SOURCE_MODELS
from attnlab.positions import POSITIONS
from attnlab.runs.library import Library, LibraryError
from attnlab.runs.links import to_query
from attnlab.training.evaluation import Evaluation, evaluate
from attnlab.training.experiment import prepare, to_json
from attnlab.training.limits import Limits
from attnlab.training.loop import divergence, train
from attnlab.training.optimisers import OPTIMISERS
from tests.unit.small_experiments import SMALL, SMALL_LINEAR, SMALL_MODELS, SMALL_TASK, small
from tests.unit.worker_faults import deadly_processes


def seeds_of(experiment, *seeds):
    return [dataclasses.replace(experiment, seed=seed) for seed in seeds]


def with_training(experiment, **options):
    training = dataclasses.replace(experiment.training, **options)
    return dataclasses.replace(experiment, training=training)


def alone(experiment):
    """Loss and accuracy by the plain loop."""
    setup = prepare(experiment)
    *_, last = train(experiment, setup)
    readout = experiment.training.readout
    return evaluate(last.state.model, setup.test, readout=readout, exact=setup.exact)


def test_the_schedule_ends_with_the_last_step_and_keeps_it_alone():
    for steps in (1, 2, 30, 2_000):
        plan = sparse_plan(steps)
        assert plan.tests[0] == 0
        assert plan.tests[-1] == steps
        assert len(plan.tests) <= 26
        assert plan.checkpoints == (steps,)


@pytest.mark.slow
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
    experiment = small(SMALL_MODELS["rnn-bottleneck"], steps=5)
    done, library = carry_out(experiment), Library(None)
    assert 0 <= done.exact_match <= 1
    number = library.keep(dataclasses.replace(done, exact_match=None))
    (result,) = run_all([experiment], library=library)
    assert result.exact_match == done.exact_match
    # Nor is it trained or kept again.
    assert library.count() == 1
    assert library.find(experiment).number == number


@pytest.mark.slow
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


def test_an_option_error_of_a_worker_is_told_as_it_is(monkeypatch):
    def refuse(*arguments):
        raise OptionError("length", 99, "too long for this worker", "Choose less")

    monkeypatch.setattr("attnlab.comparisons.many.carry_out_text", refuse)
    with ThreadPoolExecutor(1) as workers:
        (result,) = run_all([SMALL], workers)
    assert (result.state, result.reason) == (
        "refused",
        "`length` is 99: too long for this worker. Choose less.",
    )


class Flipped(Markov):
    """A process with the name of a registered one, and other probabilities."""

    def log_probs(self, belief):
        return Markov.log_probs(self, belief)[::-1]


def test_experiments_that_share_names_and_are_not_equal_have_a_result_each():
    own = dataclasses.replace(SMALL_LINEAR, generator=Flipped())
    one, other = run_all([SMALL_LINEAR, own])
    assert one.evaluation == alone(SMALL_LINEAR)
    assert other.evaluation == alone(own) != one.evaluation


def with_class_of_ones_own(kind, **changes):
    """The small experiment of a family with a class in it that only a script knows."""
    own = type("Own", (kind,), changes)()
    if kind in PROCESSES.values():
        base = SMALL_TASK if kind in TASKS.values() else SMALL
        length = max(base.length, own.shortest_length())
        return dataclasses.replace(base, generator=own, length=length)
    if kind in POSITIONS.values():
        return dataclasses.replace(SMALL, model=dataclasses.replace(SMALL.model, position=own))
    if kind in OPTIMISERS.values():
        return with_training(SMALL, optimiser=own)
    base = SMALL_TASK if kind in SOURCE_MODELS.values() else SMALL
    return dataclasses.replace(base, model=own)


@pytest.mark.parametrize(
    "kind",
    [*PROCESSES.values(), *ALL_MODELS.values(), *POSITIONS.values(), *OPTIMISERS.values()],
    ids=lambda kind: kind.name,
)
def test_a_class_that_is_not_registered_is_never_taken_for_one_that_is(kind, monkeypatch):
    def never(*arguments):
        raise AssertionError("it was trained")

    monkeypatch.setattr("attnlab.comparisons.many.carry_out", never)
    library = Library(None)
    for changes in ({}, {"name": "mine"}):
        own = with_class_of_ones_own(kind, **changes)
        with pytest.raises(OptionError, match="is 'Own': only registered classes"):
            run_all([SMALL, own], library=library)
        with ThreadPoolExecutor(1) as workers, pytest.raises(OptionError, match="is 'Own'"):
            run_all([SMALL, own], workers)
        assert library.find(own) is None
    own = with_class_of_ones_own(kind)
    for write in (to_json, to_query):
        with pytest.raises(OptionError, match=f"'{kind.name}' is that of a registered class"):
            write(own)


@pytest.mark.slow
@pytest.mark.parametrize("from_stdin", [False, True], ids=["no guard", "standard input"])
def test_a_script_whose_workers_cannot_start_is_told_so_and_keeps_nothing(tmp_path, from_stdin):
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\n"
        "from attnlab import Experiment, Library, Processes, Training, run_all\n"
        "small = Training(steps=5, train_size=100, test_size=100)\n"
        "with Processes(2) as workers:\n"
        "    asked = [Experiment(training=small, seed=seed) for seed in range(3)]\n"
        f"    list(run_all(asked, workers, library=Library(Path({str(tmp_path / 'kept')!r}))))\n"
    )
    with open(script) as file:
        done = subprocess.run(
            [sys.executable, "-" if from_stdin else str(script)],
            stdin=file,
            env=os.environ | {"PYTHONPATH": str(Path(attnlab.__file__).parents[1])},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert (done.returncode, done.stderr.count("Traceback")) == (1, 1)
    remedy = "Save it as a file" if from_stdin else 'if __name__ == "__main__":'
    assert remedy in done.stderr.splitlines()[-1]
    assert Library(tmp_path / "kept").count() == 0


def test_a_run_that_diverges_is_a_row_with_its_reason_and_the_others_go_on(monkeypatch):
    hopeless = with_training(SMALL, learning_rate=1.0, steps=60)
    monkeypatch.setattr("attnlab.training.loop.is_finite", lambda model: False)
    (failed,) = run_all([hopeless])
    monkeypatch.undo()
    assert failed.state == "failed"
    assert "not a finite number at step" in failed.reason
    assert failed.steps == int(failed.run.state.step)


def test_a_run_that_ends_far_above_a_uniform_guess_has_diverged_and_is_not_made_again():
    library, hopeless = Library(None), with_training(SMALL, learning_rate=100.0)
    (failed,) = run_all([hopeless], library=library)
    assert (failed.state, failed.steps) == ("failed", 60)
    assert "`learning_rate`, which is 100" in failed.reason
    assert failed.evaluation.nll > 10
    assert failed.diverged
    (row,) = summarise([failed], baselines=False)
    assert (row.nll, row.unfinished[0].reason) == (None, failed.reason)
    (again,) = run_all([hopeless], library=library)
    assert (again.evaluation, again.reason) == (failed.evaluation, failed.reason)
    assert library.count() == 1
    assert library.find(hopeless) is None


def test_a_model_that_knows_its_training_set_by_heart_has_not_diverged():
    setup = prepare(SMALL)
    bad = Evaluation(nll=50.0, nll_stderr=1.0, accuracy=0.3, accuracy_stderr=0.01)
    assert divergence(SMALL, setup, setup.state, bad) == ""
    # Of fresh data, of which nothing is known by heart, the test alone decides; and its error.
    fresh = with_training(SMALL, data="fresh")
    setup = prepare(fresh)
    assert "50.000 nats, and that of a uniform guess is 1.099" in divergence(
        fresh, setup, setup.state, bad
    )
    assert divergence(fresh, setup, setup.state, bad._replace(nll_stderr=24.0)) == ""
    assert divergence(fresh, setup, setup.state, bad._replace(nll=2.2, nll_stderr=0.01)) == ""


@pytest.mark.parametrize("library", [Library(None), None])
def test_a_fault_of_the_machine_is_not_kept_and_is_tried_again(library, monkeypatch):
    def full(*arguments):
        raise MemoryError("no room")

    plain = carry_out
    monkeypatch.setattr("attnlab.comparisons.many.carry_out", full)
    (failed,) = run_all([SMALL_LINEAR], library=library)
    assert (failed.state, failed.diverged) == ("failed", False)
    assert failed.reason == "MemoryError: no room"
    monkeypatch.setattr("attnlab.comparisons.many.carry_out", plain)
    (done,) = run_all([SMALL_LINEAR], library=library)
    assert done.state == "done"
    assert library is None or library.count() == 1


def test_a_stop_is_heard_within_a_run():
    def stop():
        raise Stopped

    with listening(stop), pytest.raises(Stopped):
        list(run_all([SMALL]))


def test_an_answer_of_a_worker_is_its_result():
    answer = carry_out_text(to_json(SMALL))
    own, received = carry_out(SMALL), result_from(answer)
    assert received.evaluation == own.evaluation
    assert received.tests == own.tests
    assert (received.experiment, received.state, received.steps) == (SMALL, "done", own.steps)
    np.testing.assert_array_equal(received.curve.values, own.curve.values)


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
