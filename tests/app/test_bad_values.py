"""Values that cannot run are answered by an error that names the option."""

import pytest
import streamlit as st

from attnlab import Experiment
from attnlab.ui.controls.form_state import chosen_part


def _errors(app) -> str:
    assert not app.exception
    return "\n".join(error.value for error in app.error)


def _assert_refused(app, *words: str) -> None:
    errors = _errors(app)
    assert all(word in errors for word in words), (errors, words)
    assert app.button(key="run_start").disabled
    assert app.button(key="run_step").disabled
    assert app.button(key="run_reset").disabled
    assert app.button(key="run_new_seed").disabled


@pytest.mark.slow
def test_rows_that_are_no_probabilities(app):
    for text, words in (
        ("0.5 0.3 0.1\n0.3 0.4 0.3\n0.2 0.3 0.5", ("transition row 1", "0.9")),
        ("0.6 0.3 0.1\n0.3 0.4 0.3\n0.2 0.3", ("transition row 3", "3 numbers")),
        ("0.6 0.3 0.1\n0.3 0.4 0.3", ("transition", "3 rows")),
        ("nan 0 0; 1 0 0; 1 0 0", ("transition row 1", "nan")),
        ("", ("transition", "empty")),
    ):
        app.text_area(key="markov_transition").set_value(text).run()
        _assert_refused(app, *words)


@pytest.mark.slow
def test_a_run_at_hand_survives_bad_settings(app):
    app.button(key="run_step").click().run()
    run = app.session_state["session"].run
    assert run.wait(120.0)
    app.text_area(key="markov_transition").set_value("1 1 1").run()
    assert "transition" in _errors(app)
    assert not app.button(key="run_step").disabled
    app.button(key="run_step").click().run()
    assert run.wait(120.0)
    assert run.snapshot().step == 2
    assert not app.run().exception


@pytest.mark.slow
def test_a_problem_is_told_once(app):
    cases = (
        ("markov", "markov_transition", "0.5 0.3 0.1\n0.3 0.4 0.3\n0.2 0.3 0.5"),
        ("hmm", "hmm_showing", "0.5 0.3 0.1\n0.3 0.4 0.3"),
        ("custom", "custom_table", "1 1 1\n1 0 0\n0 1 0"),
        ("custom", "custom_symbols", "A"),
    )
    for page in ("pages/train.py", "pages/generators.py"):
        app.switch_page(page).run()
        is_train = page == "pages/train.py"
        for generator, key, text in cases:
            app.selectbox(key="generator").select(generator).run()
            before = app.session_state[key]
            app.session_state[key] = text
            app.run()
            by_control = [error.value for error in (app.sidebar if is_train else app.main).error]
            assert len(by_control) == 1, by_control
            # The place of the buttons says it too, and the control is marked.
            assert len(app.error) == 1 + is_train
            if is_train:
                assert by_control[0] in app.main.error[0].value
                assert any(f".st-key-{key} " in each.proto.body for each in app.get("html"))
            app.session_state[key] = before


@pytest.mark.slow
def test_the_error_beside_the_buttons_has_the_words_of_the_control(app):
    app.selectbox(key="data").select("fixed").run()
    app.number_input(key="train_size").set_value(100).run()
    app.selectbox(key="generator").select("sort").run()
    app.slider(key="sort_letters").set_value(2).run()
    app.slider(key="sort_source_length").set_value(2).run()
    (error,) = (each.value for each in app.main.error)
    assert error.startswith("These settings cannot run. `test size` is ")
    # Nothing tells a visitor to press a button that is grey.
    assert not any("Press **Start**" in each.value for each in app.markdown)
    app.selectbox(key="generator").select("markov").run()
    assert not app.error
    assert any("Press **Start**" in each.value for each in app.markdown)


@pytest.mark.slow
@pytest.mark.parametrize("length", [12, 10])
def test_days_may_be_recalled_beyond_the_usual_ones(app, length):
    app.selectbox(key="generator").select("recall").run()
    app.slider(key="length").set_value(length).run()
    app.text_input(key="recall_days").set_value("1 4 12").run()
    assert _errors(app) == ""
    assert not app.button(key="run_start").disabled


def test_a_class_that_no_menu_has_becomes_the_default(monkeypatch):
    """Only a forged message has one, which no page without a browser can send."""
    state = {"generator": "zz", "model": "gru"}
    monkeypatch.setattr(st, "session_state", state)
    assert chosen_part(Experiment, "generator").name == state["generator"] == "markov"
    assert chosen_part(Experiment, "model").name == "gru"


@pytest.mark.slow
def test_a_law_of_too_many_sequences_is_answered_with_the_largest_length(app):
    app.selectbox(key="generator").select("markov").run()
    app.selectbox(key="data").select("law").run()
    # No batch is drawn.
    assert not {"batch", "batch_mode", "train_size"} & {each.key for each in app.number_input}
    app.slider(key="length").set_value(12).run()
    _assert_refused(app, "`data` is 'law'", "177,147", "at most 10")
    app.slider(key="length").set_value(4).run()
    assert _errors(app) == ""
    app.button(key="run_step").click().run()
    assert app.session_state["session"].run.wait(120.0)
    app.run()
    assert any("Loss and accuracy are exact" in each.value for each in app.caption)
