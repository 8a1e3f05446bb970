"""The line that says that the page follows, until the engine is there."""

import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from first_paint import waiting

_ROOT = Path(__file__).parents[2]


def test_it_waits_for_no_import():
    # Nothing of the engine, and nothing of what Streamlit imports for a chart or an image.
    program = """
import sys
from first_paint import waiting
waiting._import_shell = sys.exit
try:
    waiting.wait_for_engine()
except SystemExit:
    pass
print([name for name in ("attnlab", "jax", "numpy", "pandas", "PIL") if name in sys.modules])
"""
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=_ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def _page():
    import streamlit as st

    from first_paint import waiting

    waiting.wait_for_engine()
    st.write("the page")


@pytest.fixture
def starting(monkeypatch):
    """A server without its engine; whether it is there."""
    here = threading.Event()
    monkeypatch.setattr(waiting, "engine_is_here", lambda: here)
    return here


def test_the_wait_is_told_in_words(starting, monkeypatch):
    # As far as it comes while the engine is imported; to stop a script is no exception of the
    # kind that takes the line away.
    monkeypatch.setattr(waiting, "_import_shell", waiting.st.stop)
    page = AppTest.from_function(_page).run()
    (line,) = page.info
    assert "importing its engine" in line.value
    assert not page.markdown


def test_the_page_follows_by_itself(starting, monkeypatch):
    shell = SimpleNamespace(ensure_shell=waiting.st.rerun)
    monkeypatch.setattr(waiting, "_import_shell", lambda: shell)
    page = AppTest.from_function(_page).run()
    assert [text.value for text in page.markdown] == ["the page"]
    assert not page.info
    assert starting.is_set()


def test_an_engine_that_cannot_be_imported_is_not_announced(starting, monkeypatch):
    def import_shell():
        raise ImportError("no engine")

    monkeypatch.setattr(waiting, "_import_shell", import_shell)
    page = AppTest.from_function(_page).run()
    assert len(page.exception) == 1
    assert not page.info
    assert not starting.is_set()


def test_it_does_not_import_beside_another_thread(starting, monkeypatch):
    lock = threading.Lock()
    monkeypatch.setattr(waiting, "engine_lock", lambda: lock)
    held = []

    def import_shell():
        held.append(lock.locked())
        return SimpleNamespace(ensure_shell=waiting.st.rerun)

    monkeypatch.setattr(waiting, "_import_shell", import_shell)
    AppTest.from_function(_page).run()
    assert held == [True]
    assert not lock.locked()


def test_the_server_holds_the_lock_while_it_imports():
    program = """
import builtins
import app
from first_paint.waiting import engine_lock
real = builtins.__import__
def noted(name, *rest, **options):
    if name.startswith("attnlab"):
        print(engine_lock().locked())
        raise SystemExit
    return real(name, *rest, **options)
builtins.__import__ = noted
app._warm_up(None)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=_ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "True"


def test_with_the_engine_there_it_draws_nothing(starting):
    starting.set()
    page = AppTest.from_function(_page).run()
    assert len(page.main) == 1
