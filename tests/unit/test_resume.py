"""A run resumed in a script, and its models by step."""

import dataclasses

import jax
import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.runs.run import Run, model_at, resume
from attnlab.runs.storage import from_bytes, to_bytes
from attnlab.training.experiment import prepare
from attnlab.training.loop import EvaluationEvent, run
from attnlab.training.optimisers import WarmUpCosine
from tests.unit.live_runs import assert_same_history, trained
from tests.unit.small_experiments import small


def resumed(record, **how):
    for event in resume(record, **how):
        record = record.after(event)
    return record


def assert_same_models(one, other):
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    assert all(np.array_equal(left, right) for left, right in pairs)


@pytest.mark.parametrize("loss", ["last", "next"])
def test_a_resumed_run_equals_an_uninterrupted_one(loss):
    whole, half = (trained(small(steps=steps, loss=loss)) for steps in (60, 30))
    half = from_bytes(to_bytes(half))
    longer = resumed(half, steps=30)
    assert longer.experiment == whole.experiment
    assert_same_models(longer.state, whole.state)
    assert np.array_equal(longer.history.losses, whole.history.losses)
    tests, same = dict(longer.history.tests), dict(whole.history.tests)
    common = tests.keys() & same.keys()
    assert {0, 30, 60} <= common
    assert all(tests[step] == same[step] for step in common)
    # The run itself is as it was.
    assert int(half.state.step) == 30
    assert str(longer.history.changes[0]) == "steps 30 → 60"
    assert from_bytes(to_bytes(longer)).experiment == longer.experiment


def test_an_interrupted_run_resumes_to_its_own_last_step_under_a_schedule():
    experiment = small(steps=40, schedule=WarmUpCosine())
    setup = prepare(experiment)
    part = Run(experiment, setup.state)
    for event in run(experiment, setup=setup, chunk=7):
        part = part.after(event)
        if isinstance(event, EvaluationEvent) and event.step >= 20:
            break
    assert 0 < int(part.state.step) < 40
    rest, whole = resumed(part), trained(experiment)
    assert_same_history(rest.history, whole.history)
    assert_same_models(rest.state, whole.state)


def test_further_steps_are_one_or_more_and_within_the_bounds():
    record = trained(small(steps=5))
    for steps in (0, -3):
        with pytest.raises(OptionError, match="`steps` is"):
            resume(record, steps=steps)
    with pytest.raises(OptionError, match="`steps` is"):
        resume(record, steps=10**9)


def test_a_model_at_a_step_is_the_kept_one_or_the_same_trained_again():
    experiment = small(steps=90)
    whole = trained(experiment)
    kept = dict(whole.history.checkpoints)
    forgetful = whole._replace(history=dataclasses.replace(whole.history, checkpoints=()))
    for step in (0, sorted(kept)[len(kept) // 2], 90):
        assert model_at(whole, step) is kept[step]
        assert_same_models(model_at(forgetful, step), kept[step])


def test_a_model_at_a_step_knows_the_changes_of_a_run():
    first = trained(small(steps=20))
    longer = resumed(first, steps=20)
    forgetful = longer._replace(history=dataclasses.replace(longer.history, checkpoints=()))
    between = dict(longer.history.checkpoints)
    step = next(each for each in sorted(between) if 20 < each < 40)
    assert_same_models(model_at(forgetful, step), between[step])


def test_a_model_of_another_run_is_not_passed_off_as_its_own():
    record = trained(small(steps=20))
    other = record._replace(experiment=small(steps=20, seed=1))
    forgetful = other._replace(history=dataclasses.replace(record.history, checkpoints=()))
    with pytest.raises(OptionError, match="losses are not obtained again"):
        model_at(forgetful, 7)
    for step in (-1, 21):
        with pytest.raises(OptionError, match="`step` is"):
            model_at(record, step)
