"""The app without a browser."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from attnlab.live.programs import Programs

_APP = Path(__file__).resolve().parents[2] / "app.py"


@pytest.fixture(autouse=True)
def _nothing_compiled_ahead(monkeypatch):
    """Nobody is about to press Start on these pages; compiling for each would take minutes."""
    monkeypatch.setattr(Programs, "want", lambda self, experiment: None)


@pytest.fixture
def app():
    """The page that the app opens on, drawn once. Its run has ended when the test is over."""
    app = AppTest.from_file(_APP, default_timeout=60).run()
    assert not app.exception
    yield app
    if "live_run" in app.session_state:
        app.session_state["live_run"].pause()
        assert app.session_state["live_run"].wait(120.0)
