"""What is on the screen while a server is still importing its engine."""

import pytest
from playwright.sync_api import expect

from tests.e2e.server import AppServer
from tests.e2e.train_page import TrainPage

_LINE = "is importing its engine"
# Python imports a module of this name when it starts. The engine waits for a file, which says
# whether it can be imported.
_HOLD = """
import time
from importlib.machinery import SourceFileLoader
from pathlib import Path

execute = SourceFileLoader.exec_module
go = Path({go!r})

def hold(self, module):
    while module.__name__ == "jax" and not go.exists():
        time.sleep(0.05)
    if module.__name__ == "jax" and go.read_text():
        raise ImportError(go.read_text())
    execute(self, module)

SourceFileLoader.exec_module = hold
"""


@pytest.fixture
def go(tmp_path):
    return tmp_path / "go"


@pytest.fixture
def held_server(tmp_path, go):
    """A server that imports its engine once `go` is there."""
    (tmp_path / "sitecustomize.py").write_text(_HOLD.format(go=str(go)))
    server = AppServer(tmp_path / "log", {"PYTHONPATH": str(tmp_path)})
    server.start()
    yield server
    server.stop()


@pytest.mark.e2e
def test_a_line_is_read_before_the_engine_is_there_and_gives_way_to_the_page(
    new_page, held_server, go
):
    train = TrainPage(new_page())
    page = train.page
    page.goto(f"{held_server.url}/?v=1&steps=700")
    other = new_page()
    other.goto(f"{held_server.url}/generators")
    line = page.get_by_text(_LINE)
    expect(line).to_be_visible()
    expect(other.get_by_text(_LINE)).to_be_visible()
    expect(page.get_by_role("button", name="Start")).to_have_count(0)
    # Streamlit's own list of the files below `pages/`.
    expect(page.get_by_test_id("stSidebarNav")).to_have_count(0)
    go.touch()
    train.wait_for("idle")
    expect(line).to_have_count(0)
    expect(train.field("steps")).to_have_value("700")
    expect(other.get_by_role("heading", name="Generators")).to_be_visible()
    assert held_server.failures() == [], held_server.log()


@pytest.mark.e2e
def test_an_engine_that_cannot_be_imported_is_told_in_words(new_page, held_server, go):
    page = new_page()
    page.goto(held_server.url)
    line = page.get_by_text(_LINE)
    expect(line).to_be_visible()
    go.write_text("no engine")
    expect(page.get_by_text("Something went wrong")).to_be_visible()
    expect(line).to_have_count(0)
    assert "no engine" in held_server.log()
