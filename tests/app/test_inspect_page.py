"""The Inspect page without a browser."""

import pytest

from attnlab.runs.history import empty_history
from attnlab.runs.storage import Run
from attnlab.training.experiment import prepare
from tests.unit.small_experiments import SMALL

_PATIENCE = 300.0


@pytest.fixture(scope="module")
def stored():
    """A run before its first step."""
    return Run(SMALL, prepare(SMALL).state, empty_history())


@pytest.fixture
def page(app, stored):
    """The page on that run."""
    run = app.session_state["live_run"]
    run.resume(stored)
    assert run.wait(_PATIENCE)
    app.switch_page("pages/inspect.py").run()
    assert not app.exception
    return app


def test_a_slider_of_which_the_browser_knows_nothing_stands_at_the_newest_step(page):
    slider = page.select_slider(key="shown_step")
    assert slider.options[-1] == "now"
    # A browser that misses the message that sets a slider sends its default back.
    assert list(slider.proto.default) == [len(slider.options) - 1]
