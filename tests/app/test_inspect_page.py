"""Look inside without a browser: where a model looks."""

import dataclasses
import json
import re

import numpy as np
import pytest

from attnlab.positions import Rotary
from attnlab.runs.history import empty_history
from attnlab.runs.links import to_query
from attnlab.runs.run import Run
from attnlab.training.experiment import prepare
from attnlab.training.presets import FIRST_PRESET, PRESETS
from tests.unit.live_runs import trained
from tests.unit.small_experiments import SMALL, SMALL_LINEAR, SMALL_TRANSFORMER, small

_PATIENCE = 300.0


def _starting(experiment) -> Run:
    """The run of an experiment before its first step."""
    return Run(experiment, prepare(experiment).state, empty_history())


@pytest.fixture(scope="module")
def stored():
    return _starting(SMALL)


def _resume(app, stored) -> None:
    run = app.session_state["session"].run
    run.resume(stored)
    assert run.wait(_PATIENCE)


def progress(page) -> str:
    """Return the texts of all progress bars."""
    return " ".join(each.proto.text for each in page.get("progress"))


def _open(app):
    app.session_state["test_set"] = True
    app.switch_page("pages/look_inside.py").run()
    # Timers do not run here.
    while any("Computing" in caption.value for caption in app.caption):
        app.run()
    assert not app.exception
    return app


@pytest.fixture
def page(app, stored):
    """The page on that run."""
    _resume(app, stored)
    return _open(app)


def _drawing(page, name):
    return page.session_state["session"].charts[name].drawing


def _table(page, name):
    (table,) = _drawing(page, name).tables.values()
    return table


@pytest.mark.slow
def test_a_frozen_pattern_is_of_a_step_before_the_one_that_is_shown(app):
    stored = trained(small(steps=8))
    _resume(app, stored)
    page = _open(app)
    steps = [step for step, _ in stored.history.checkpoints][:-1]
    frozen = page.selectbox(key="frozen_step")
    assert frozen.options == [f"{step:,}" for step in steps]
    frozen.set_value(steps[-1]).run()
    # Moved to a moment that is not after it, the choice is one that there is.
    page.session_state["shown_step"] = steps[1]
    page.run()
    assert not page.exception
    assert page.selectbox(key="frozen_step").options == [f"{step:,}" for step in steps[:1]]
    assert page.selectbox(key="frozen_step").value == steps[0]
    # Nothing is before the first step.
    page.session_state["shown_step"] = steps[0]
    page.run()
    assert not page.exception
    assert not [box for box in page.selectbox if box.key == "frozen_step"]


@pytest.mark.slow
def test_heads_stand_in_the_order_of_what_their_removal_costs(app):
    _resume(app, _starting(SMALL_TRANSFORMER))
    page = _open(app)
    before = _table(page, "Mean patterns of all heads")
    assert list(before["head"]) == ["L1 H1", "L1 H2", "L2 H1", "L2 H2"]
    assert set(before["text"]) == {""}
    page.button(key="edits_start").click().run()
    while "done: 100%" not in progress(page):
        page.run()
        assert not page.error
    found, table = _table(page, "Mean patterns of all heads"), page.table[0].value
    names = [re.sub(r"layer (\d), head (\d)", r"L\1 H\2", row) for row in table.index]
    assert list(found["head"]) == names
    assert list(found["text"]) == list(table["removed"])
    # The map of one layer and head is shown. The last layer makes the prediction.
    shown = [page.session_state["session"].charts["Map: attends"].alt]
    page.selectbox(key="map_layer_2").set_value(0).run()
    shown.append(page.session_state["session"].charts["Map: attends"].alt)
    page.pills(key="map_head_2").set_value(1).run()
    shown.append(page.session_state["session"].charts["Map: attends"].alt)
    assert len(set(shown)) == 3


@pytest.mark.slow
def test_a_press_tests_longer_sequences(app):
    rotary = small(SMALL_TRANSFORMER, loss="next")
    model = dataclasses.replace(rotary.model, position=Rotary())
    _resume(app, _starting(dataclasses.replace(rotary, model=model)))
    page = _open(app)
    page.button(key="lengths_start").click().run()
    assert page.session_state["session"].jobs["lengths"].wait(_PATIENCE)
    page.run()
    assert not page.error
    tables = _drawing(page, "Loss on longer sequences").tables.values()
    places = [list(table["at"]) for table in tables]
    assert places == [list(range(2, 18)), 2 * list(range(2, 18)), [5]]
    # The model is not trained, so that it is worse than a uniform guess.
    (words,) = (each.value for each in page.caption if "above the exact prediction" in each.value)
    model, *_ = tables
    assert (model["value"] > np.log(3) + 2 * model["error"]).any()
    assert "A loss above a uniform guess (1.099) means confident predictions" in words


@pytest.mark.slow
def test_a_press_takes_the_gap_to_the_floor_apart(app):
    _resume(app, _starting(SMALL_LINEAR))
    page = _open(app)
    page.button(key="ledger_start").click().run()
    assert page.session_state["session"].jobs["ledger"].wait(_PATIENCE)
    page.run()
    assert not page.error
    (table,) = _drawing(page, "Parts of the gap").tables.values()
    assert list(table["part"]) == ["finite data", "optimisation", "family", "loss − floor"]
    *parts, gap = table["nats"]
    assert sum(parts) == pytest.approx(gap, abs=1e-6)
    assert any("nats above the floor" in each.value for each in page.caption)


def _expected_loss(page):
    (words,) = [each.value for each in page.caption if "Of the expected loss" in each.value]
    return words


@pytest.mark.slow
def test_a_prediction_comes_first_and_a_click_changes_its_sequence(page):
    first = next(iter(page.session_state["session"].charts))
    table = _table(page, first)
    assert list(table["row"].unique()) == ["attends", "depends", "truth"]
    assert list(table["day"].unique()) == [1, 2, 3, 4]
    before = _expected_loss(page)
    tokens = page.session_state["edited_days"]
    page.button(key="edit_day_4").click().run()
    assert not page.exception
    assert page.session_state["edited_days"] == (*tokens[:3], (tokens[3] + 1) % 3)
    assert _expected_loss(page) != before
    page.button(key="undo_edits").click().run()
    assert page.session_state["edited_days"] == tokens
    assert _expected_loss(page) == before


def _example_notes(page):
    return [each.value for each in page.markdown if "This run comes with attnlab." in each.value]


@pytest.mark.slow
def test_a_new_visitor_sees_the_run_that_is_shipped_until_one_is_trained_on_the_page(app):
    app.query_params.update(to_query(PRESETS[FIRST_PRESET].experiment))
    page = _open(app)
    while "Map: attends" not in page.session_state["session"].charts:
        page.run()
        assert not page.exception
    assert len(_example_notes(page)) == 1
    page.button(key="edit_day_4").click().run()
    assert "The prediction of the next day" in page.session_state["session"].charts
    assert page.session_state["session"].run.snapshot().state == "idle"
    page.session_state["steps"] = 3
    page.run()
    page.button(key="run_start").click().run()
    run = page.session_state["session"].run
    assert run.wait(_PATIENCE)
    assert run.snapshot().state == "done"
    assert run.experiment.training.steps == 3
    page.run()
    assert "The prediction of the next day" in page.session_state["session"].charts
    assert not _example_notes(page)


@pytest.mark.slow
def test_other_settings_than_those_of_the_run_are_offered_and_the_run_is_kept(page, stored):
    page.session_state["session"].run.step()
    assert page.session_state["session"].run.wait(_PATIENCE)
    page.session_state["steps"] = 2
    page.run()
    assert page.button(key="run_start").label.startswith("Train with changes: ")
    page.button(key="run_start").click().run()
    run = page.session_state["session"].run
    assert run.wait(_PATIENCE)
    assert run.experiment.training.steps == 2
    assert [past.experiment for past in page.session_state["session"].past_runs] == [SMALL]


def _compare_with(app, stored, other):
    _resume(app, other)
    past = app.session_state["session"].run.summary()
    _resume(app, stored)
    app.session_state["session"].past_runs = (past,)
    app.session_state["two_runs"] = True
    return _open(app)


@pytest.mark.slow
def test_two_runs_on_one_sequence_and_their_difference(app, stored):
    page = _compare_with(app, stored, _starting(small(seed=1)))
    this, other, difference = (
        _table(page, f"Two runs: {name}") for name in ("this run", "other run", "difference")
    )
    assert len(this) == len(other) == len(difference) == 10
    assert not np.allclose(this["value"], other["value"])
    np.testing.assert_allclose(difference["value"], this["value"] - other["value"])
    ends = [
        json.loads(_drawing(page, f"Two runs: {name}").spec)["encoding"]["color"]["scale"]["domain"]
        for name in ("this run", "other run", "difference")
    ]
    assert ends[0] == ends[1]
    assert ends[2][0] == -ends[2][1]


@pytest.mark.slow
def test_a_run_without_attention_is_compared_by_what_it_depends_on(app, stored):
    page = _compare_with(app, stored, _starting(SMALL_LINEAR))
    assert any("`linear`, has no attention" in caption.value for caption in page.caption)
    # It reads the whole sequence at once: the row that makes the prediction is all there is.
    assert list(_table(page, "Two runs: difference")["query"]) == [4, 4, 4, 4]


@pytest.mark.slow
def test_runs_of_other_lengths_are_not_compared(app, stored):
    page = _compare_with(app, stored, _starting(dataclasses.replace(SMALL, length=3)))
    (reason,) = [info.value for info in page.info if "no sequence" in info.value]
    assert "This run sees 4 days and the other 3" in reason
    assert not any(name.startswith("Two runs") for name in page.session_state["session"].charts)
