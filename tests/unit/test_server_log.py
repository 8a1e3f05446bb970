"""The log of a server: how much of it a visitor can write, and what in it counts as a failure."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.e2e.server import ROOT, AppServer

OURS = f'  File "{ROOT}/attnlab/ui/core/web.py", line 44, in __call__\n    await self._app(scope)\n'
CLOSED = (
    "starlette.websockets.WebSocketDisconnected: "
    'Cannot call "send" once a close message has been sent.'
)
CHANGED = "RuntimeError: dictionary changed size during iteration"


def traceback(file, error):
    return (
        f"ERROR: somewhere\nTraceback (most recent call last):\n{OURS}"
        f'  File "/packages/{file}", line 1, in one\n    send(it)\n    ~~~~^^^^\n{error}\n'
    )


THEIRS = [
    traceback("starlette/websockets.py", CLOSED),
    traceback("streamlit/runtime/state/session_state.py", CHANGED),
]


def failures(log, tmp_path):
    (tmp_path / "log").write_text(log)
    return AppServer(tmp_path / "log").failures()


@pytest.mark.parametrize("log", THEIRS)
def test_the_two_known_faults_of_the_server_are_not_ours(log, tmp_path):
    assert failures(log + "and on\n" + log, tmp_path) == []


@pytest.mark.parametrize(
    "log",
    [
        traceback("starlette/websockets.py", "RuntimeError: other"),
        traceback("starlette/routing.py", CLOSED),
        traceback("streamlit/runtime/state/session_state.py", "KeyError: 1"),
        traceback("streamlit/elements/metric.py", CHANGED),
    ],
)
def test_any_other_exception_on_the_way_through_our_files_is(log, tmp_path):
    (line,) = failures("".join([*THEIRS, log, *THEIRS]), tmp_path)
    assert line == OURS.splitlines()[0]


@pytest.mark.slow
def test_what_a_browser_sent_is_repeated_at_most_in_part():
    # As the server does, in a process of its own: importing the app changes all its logging.
    program = """
import app
from streamlit.logger import get_logger
log = get_logger("streamlit.error_util")
for long in ("x" * 15_000_000, "x\\n" * 5_000_000):
    try:
        raise ValueError(long)
    except ValueError as error:
        log.error("Uncaught app execution", exc_info=error)
    log.warning(long)
    log.warning("%s: %s", "what was sent", long)
log.warning("short: %d", 7)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert len(run.stderr) < 20_000
    assert run.stderr.count("Uncaught app execution\nTraceback") == 2
    assert run.stderr.count('File "<string>", line 7, in <module>') == 2
    assert "ValueError: xxx" in run.stderr
    assert "what was sent: xxx" in run.stderr
    assert "short: 7" in run.stderr


@pytest.mark.slow
def test_an_error_of_a_page_is_logged_once_a_session_and_line():
    program = """
import app
from streamlit.testing.v1 import AppTest
page = 'import streamlit as st; raise st.session_state["kind"]("a page")'
for visitor in range(2):
    session = AppTest.from_string(page)
    for kind in (ValueError, TypeError, ValueError, TypeError):
        session.session_state["kind"] = kind
        assert session.run().exception
"""
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for kind in ("ValueError", "TypeError"):
        assert run.stderr.count(f"\n{kind}: a page") == 2


_FILE = Path(__file__).resolve().parents[2] / ".streamlit" / "config.toml"


def test_nothing_is_reported_and_no_traceback_shown():
    configuration = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    assert configuration["browser"]["gatherUsageStats"] is False
    assert configuration["client"]["showErrorDetails"] == "none"
    assert configuration["server"]["maxUploadSize"] <= 50
    assert configuration["server"]["maxWidgetStateSize"] <= 1
