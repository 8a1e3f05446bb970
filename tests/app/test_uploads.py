"""Files that come in, each dealt with once, whatever comes in between."""

import pytest
from streamlit.testing.v1 import AppTest

from attnlab.ui.core.session import Session
from attnlab.ui.train import controller


def _page():
    import streamlit as st

    from attnlab.ui.controls.uploads import draw_upload, take_upload

    taken = st.session_state.setdefault("taken", [])

    def take(file):
        taken.append(file and file.name)
        if st.session_state.get("busy") and taken.count("a.run") == 1:
            # As a request does that comes while the file is read.
            st.rerun()
        return file and (lambda: st.error(f"{file.name} is no run"))

    take_upload("file", take)
    if st.toggle("open", True, key="open"):
        draw_upload("A file", key="file", help="")


@pytest.fixture
def page():
    return AppTest.from_function(_page).run()


def _put(page, name):
    page.file_uploader(key="file").set_value((name, b"", "")).run()


def _told(page):
    assert not page.exception
    return [error.value for error in page.error]


def test_a_file_is_dealt_with_once(page):
    _put(page, "a.run")
    page.run()
    assert page.session_state["taken"] == ["a.run"]
    assert _told(page) == ["a.run is no run"]
    _put(page, "b.run")
    assert page.session_state["taken"] == ["a.run", "b.run"]
    assert _told(page) == ["b.run is no run"]


def test_a_request_while_a_file_is_read_loses_nothing(page):
    page.session_state["busy"] = True
    _put(page, "a.run")
    assert page.session_state["taken"] == ["a.run", "a.run"]
    assert _told(page) == ["a.run is no run"]


def test_a_file_that_is_taken_away_is_forgotten(page):
    _put(page, "a.run")
    page.file_uploader(key="file").set_value(None).run()
    page.run()
    assert page.session_state["taken"] == ["a.run", None]
    assert _told(page) == []


def test_a_control_that_comes_back_empty_takes_nothing_away(page):
    _put(page, "a.run")
    page.toggle(key="open").set_value(False).run()
    page.toggle(key="open").set_value(True).run()
    page.run()
    assert page.session_state["taken"] == ["a.run"]
    assert _told(page) == ["a.run is no run"]


@pytest.fixture
def amendable(app):
    """The page after a run of 6 steps, with 10 in the controls, and the run."""
    app.number_input(key="steps").set_value(6).run()
    app.button(key="run_start").click().run()
    run = app.session_state["session"].run
    assert run.wait(120.0)
    app.number_input(key="steps").set_value(10).run()
    assert app.button(key="run_amend").label == "Apply and continue"
    return app, run


@pytest.mark.slow
def test_settings_are_applied_once(amendable, monkeypatch):
    app, run = amendable
    amended, amend = [], run.amend
    monkeypatch.setattr(run, "amend", lambda form: amended.append(form) or amend(form))
    app.session_state["session"].commands = [controller.amend] * 2
    app.run()
    assert run.wait(120.0)
    app.run()
    assert not app.exception
    assert not app.toast
    assert [form.training.steps for form in amended] == [10]
    assert (run.snapshot().state, run.snapshot().step) == ("done", 10)


def test_a_click_that_is_late_does_not_apply_the_settings_of_later():
    def script():
        from attnlab.live.live_run import LiveRun
        from attnlab.ui.train.transport import draw_amend
        from tests.unit.small_experiments import SMALL

        draw_amend(SMALL, LiveRun(SMALL).snapshot())

    page = AppTest.from_function(script)
    page.session_state["session"] = Session(commands=[controller.amend, controller.step])
    assert not page.run().exception
    assert page.session_state["session"].commands == [controller.step]


def test_a_day_is_changed_once():
    def script():
        from attnlab.ui.train.inside.sequence_panel import draw_days
        from tests.unit.small_experiments import SMALL

        # As it was drawn before the clicks.
        draw_days(SMALL.generator.vocabulary, (0, 2, 1, 1), "day")

    page = AppTest.from_function(script)
    page.session_state["edited_days"] = (0, 2, 1, 1)
    page.run()
    for _ in range(2):
        page.button(key="edit_day_2").click().run()
    assert not page.exception
    assert page.session_state["edited_days"] == (0, 0, 1, 1)
