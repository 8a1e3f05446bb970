"""When a run is looked at, and what is kept of it."""

import itertools

import hypothesis
import jax.random as jr
import numpy as np
import pytest
from hypothesis import strategies as st

from attnlab.models import MODELS, parameter_count
from attnlab.runs.history import (
    MOST_CHANGES,
    MOST_CHECKPOINTS,
    MOST_POINTS,
    MOST_TESTS,
    History,
    empty_history,
    loss_curve,
)
from attnlab.training.changes import Change
from attnlab.training.evaluation import Evaluation
from attnlab.training.loop import evaluation_plan

MOST_PICTURES = 64

EVALUATION = Evaluation(1.0, 0.1, 0.5, 0.05)


@hypothesis.given(steps=st.integers(1, 100_000))
@hypothesis.example(steps=1)
@hypothesis.example(steps=100_000)
def test_a_schedule_reaches_from_the_first_to_the_last_step(steps):
    plan = evaluation_plan(steps)
    for series in plan:
        assert series[0] == 0
        assert series[-1] == steps
        assert all(a < b for a, b in itertools.pairwise(series))
    assert len(plan.checkpoints) <= MOST_PICTURES
    assert len(plan.tests) <= 2 * MOST_PICTURES
    assert set(plan.checkpoints) <= set(plan.tests)


@hypothesis.given(steps=st.integers(1, 3_000), data=st.data())
def test_the_next_look_is_the_first_one_after_a_step(steps, data):
    plan = evaluation_plan(steps)
    step = data.draw(st.integers(0, steps))
    expected = min((due for due in plan.tests if due > step), default=steps)
    assert plan.next_after(step) == expected


def test_checkpoints_are_log_spaced():
    checkpoints = np.array(evaluation_plan(100_000).checkpoints)
    late = checkpoints[checkpoints > 100]
    ratios = late[1:] / late[:-1]
    # 62 equal ratios from 1 to 100,000; steps are whole numbers, one part in a hundred here.
    np.testing.assert_allclose(ratios, 100_000 ** (1 / 62), rtol=0.02)


@pytest.mark.parametrize("steps", [0, 1, 7, 999, 1_000, 1_001, 1_999, 2_500, 100_000])
def test_a_loss_curve_is_short_and_keeps_the_mean(steps):
    losses = np.random.default_rng(steps).random(steps).astype(np.float32)
    curve = loss_curve(empty_history().with_losses(losses))
    assert len(curve.steps) == len(curve.values) <= MOST_POINTS
    assert MOST_POINTS <= 1_000
    span = max(1, -(-steps // MOST_POINTS))
    # Spans are equal, so the newest steps wait until theirs is full.
    covered = len(curve.steps) * span
    assert steps - span < covered <= steps
    if steps:
        assert curve.values.mean() == pytest.approx(losses[:covered].mean(dtype=np.float64))
        assert curve.steps[-1] == covered - 1
        assert set(np.diff(curve.steps)) <= {span}


def test_every_point_of_a_long_curve_is_the_mean_of_its_span():
    losses = np.arange(2 * MOST_POINTS, dtype=np.float32)
    curve = loss_curve(empty_history().with_losses(losses))
    np.testing.assert_array_equal(curve.steps, np.arange(1, 2 * MOST_POINTS, 2))
    np.testing.assert_allclose(curve.values, curve.steps - 0.5)


def test_a_short_curve_is_the_losses():
    losses = np.array([3, 2, 1], dtype=np.float32)
    curve = loss_curve(empty_history().with_losses(losses))
    np.testing.assert_array_equal(curve.values, losses)
    np.testing.assert_array_equal(curve.steps, [0, 1, 2])


def test_a_history_grows_and_the_old_one_stays():
    empty = empty_history()
    some = empty.with_losses(np.ones(2, dtype=np.float32))
    more = some.with_losses(np.zeros(1, dtype=np.float32))
    assert (empty.losses.size, some.losses.size) == (0, 2)
    np.testing.assert_array_equal(more.losses, [1, 1, 0])
    assert not more.losses.flags.writeable
    assert more.losses.dtype == np.float32


def test_a_step_is_tested_and_its_model_kept_once():
    model = MODELS["linear"]().build(vocab=3, length=4, key=jr.key(0))
    history = empty_history().with_test(0, EVALUATION).with_checkpoint(0, model)
    assert history.with_test(0, EVALUATION) is history
    assert history.with_checkpoint(0, model) is history
    later = history.with_test(5, EVALUATION).with_checkpoint(5, model)
    assert [step for step, _ in later.tests] == [step for step, _ in later.checkpoints] == [0, 5]


def grown(steps):
    """A history with a test at every step and a model kept at every tenth."""
    model = MODELS["linear"]().build(vocab=3, length=4, key=jr.key(0))
    history = empty_history()
    for step in range(steps):
        history = history.with_test(step, EVALUATION)
        if step % 10 == 0:
            history = history.with_checkpoint(step, model)
    return history


def test_a_full_history_makes_room_for_what_is_new():
    steps = 10 * MOST_CHECKPOINTS + 1
    history = grown(steps)
    tests, models = ([step for step, _ in kept] for kept in (history.tests, history.checkpoints))
    assert MOST_TESTS / 2 < len(tests) <= MOST_TESTS
    assert len(models) == MOST_CHECKPOINTS / 2 + 1
    # From the first to the last, evenly thinned, and with a test wherever a model is shown.
    assert (tests[0], tests[-1]) == (0, steps - 1)
    assert set(np.diff(models)) == {20}
    assert sorted(set(tests)) == tests
    assert set(models) <= set(tests)
    assert grown(MOST_TESTS).tests == tuple((step, EVALUATION) for step in range(MOST_TESTS))


def test_large_models_are_kept_at_fewer_steps(monkeypatch):
    model = MODELS["linear"]().build(vocab=3, length=4, key=jr.key(0))
    monkeypatch.setattr("attnlab.runs.history.MOST_NUMBERS", 5 * parameter_count(model))
    history = empty_history()
    for step in range(40):
        history = history.with_checkpoint(step, model)
        steps = [step for step, _ in history.checkpoints]
        assert len(steps) <= 5
        assert (steps[0], steps[-1]) == (0, step)


def test_a_history_of_more_than_a_file_holds_is_refused():
    losses, history = np.zeros(0, dtype=np.float32), empty_history()
    for more in (
        {"tests": ((0, EVALUATION),) * (MOST_TESTS + 1)},
        {"checkpoints": ((0, MODELS["linear"]().build(vocab=3, length=4, key=jr.key(0))),)
                        * (MOST_CHECKPOINTS + 1)},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"at most 1,024 tests and 256 checkpoints\. Leave"):
            History(losses=losses, **more)
    for _ in range(MOST_CHANGES):
        history = history.after(Change(0, ()))
    with pytest.raises(ValueError, match=r"at most 100 times\. Reset to change them again"):
        history.after(Change(0, ()))


def test_until_a_step_keeps_all_of_that_step_and_nothing_behind_it():
    model = MODELS["linear"]().build(vocab=3, length=2, key=jr.key(0))
    history = empty_history().with_losses(np.arange(4, dtype=np.float32))
    for step in range(5):
        history = history.with_test(step, Evaluation(1.0, 0.1, 0.5, 0.1))
        history = history.with_checkpoint(step, model)
        history = history.after(Change(step, (("batch", 100, 50),)))
    kept = history.until(2)
    assert kept.losses.tolist() == [0, 1]
    for series in (kept.tests, kept.checkpoints):
        assert [step for step, _ in series] == [0, 1, 2]
    assert [change.step for change in kept.changes] == [0, 1, 2]
