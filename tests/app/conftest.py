"""The app without a browser."""

import concurrent.futures
import functools
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.elements.widgets import text_widgets
from streamlit.testing.v1 import AppTest

from attnlab.runs.links import LINK_VERSION
from attnlab.ui.core.figures import FutureCache
from attnlab.ui.train import cursor

APP = Path(__file__).resolve().parents[2] / "app.py"


@pytest.fixture(scope="module", autouse=True)
def _questions_end_with_their_file():
    """What its pages asked for is cancelled: other tests need the processor and the memory."""
    asked = {}
    submit = FutureCache.submit

    def noted(self, key, asker):
        asked[self, key, asker] = submit(self, key, asker)
        return asked[self, key, asker]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FutureCache, "submit", noted)
        yield
    for cache, key, asker in asked:
        cache.release(key, asker)
    _, going_on = concurrent.futures.wait(asked.values(), timeout=120.0)
    assert not going_on


@pytest.fixture(scope="session", autouse=True)
def _packages_searched_once():
    """Every app without a browser searches all installed packages for components; 0.1 s each."""
    search = functools.cache(manifest_scanner.scan_component_manifests)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", search)
        yield


@pytest.fixture(autouse=True)
def _nothing_prepared_to_be_seen(monkeypatch):
    """No untrained models are built; compiling one for each test would take minutes."""
    monkeypatch.setattr(cursor, "starting_point", lambda experiment: None)


@pytest.fixture(autouse=True)
def _text_fields_are_bounded(monkeypatch):
    """Every text field that a test draws says how much it takes, which Streamlit cuts it to."""

    def bounded(serde, value, max_chars):
        assert max_chars, "a text field without `max_chars`"
        return serde(value, max_chars)

    for name in ("TextInputSerde", "TextAreaSerde"):
        serde = getattr(text_widgets, name)
        monkeypatch.setattr(text_widgets, name, functools.partial(bounded, serde))


@pytest.fixture
def app():
    """The Train page with all settings at their defaults, as a link without any opens it.

    Drawn once. Its run has ended when the test is over.
    """
    app = AppTest.from_file(APP, default_timeout=60)
    app.query_params["v"] = LINK_VERSION
    app.run()
    assert not app.exception
    yield app
    if "session" in app.session_state and app.session_state["session"].run:
        app.session_state["session"].run.pause()
        assert app.session_state["session"].run.wait(120.0)
