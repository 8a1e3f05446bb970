"""What counts as a failure in the log of a server that browser tests drive."""

import pytest

from tests.e2e.server import ROOT, AppServer

OURS = f'  File "{ROOT}/first_paint/policy.py", line 44, in __call__\n    await self._app(scope)\n'
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


@pytest.mark.parametrize("told", THEIRS)
def test_the_two_known_faults_of_the_server_are_not_ours(told, tmp_path):
    assert failures(told + "and on\n" + told, tmp_path) == []


@pytest.mark.parametrize(
    "told",
    [
        traceback("starlette/websockets.py", "RuntimeError: other"),
        traceback("starlette/routing.py", CLOSED),
        traceback("streamlit/runtime/state/session_state.py", "KeyError: 1"),
        traceback("streamlit/elements/metric.py", CHANGED),
    ],
)
def test_any_other_exception_on_the_way_through_our_files_is(told, tmp_path):
    (line,) = failures("".join([*THEIRS, told, *THEIRS]), tmp_path)
    assert line == OURS.splitlines()[0]
