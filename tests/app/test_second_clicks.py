"""A click that the browser sends twice, with no drawing of the whole page between."""

import pytest
from streamlit.testing.v1 import AppTest

from attnlab.ui.core.session import Session


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
    app.session_state["session"].commands = ["amend", "amend"]
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
    page.session_state["session"] = Session(commands=["amend", "step"])
    assert not page.run().exception
    assert page.session_state["session"].commands == ["step"]


def test_a_day_is_changed_once():
    def script():
        import numpy as np

        from attnlab.ui.inspect.training_panel import draw_days
        from tests.unit.small_experiments import SMALL

        # As it was drawn before the clicks.
        draw_days(SMALL.generator.vocabulary, np.array([0, 2, 1, 1]))

    page = AppTest.from_function(script)
    page.session_state["edited_days"] = (0, 2, 1, 1)
    page.run()
    for _ in range(2):
        page.button(key="edit_day_2").click().run()
    assert not page.exception
    assert page.session_state["edited_days"] == (0, 0, 1, 1)
