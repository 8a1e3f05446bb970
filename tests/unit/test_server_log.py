"""What counts as a failure in the log of a server that browser tests drive."""

import pytest

from tests.e2e.server import ROOT, AppServer

OURS = f'  File "{ROOT}/first_paint/policy.py", line 44, in __call__\n    await self._app(scope)\n'
CLOSED = (
    "starlette.websockets.WebSocketDisconnected: "
    'Cannot call "send" once a close message has been sent.'
)


def traceback(file, error):
    return (
        f"ERROR: somewhere\nTraceback (most recent call last):\n{OURS}"
        f'  File "/packages/{file}", line 1, in one\n    send(it)\n    ~~~~^^^^\n{error}\n'
    )


THEIRS = traceback("starlette/websockets.py", CLOSED)


def failures(log, tmp_path):
    (tmp_path / "log").write_text(log)
    return AppServer(tmp_path / "log").failures()


def test_the_known_fault_of_the_server_is_not_ours(tmp_path):
    assert failures(THEIRS + "and on\n" + THEIRS, tmp_path) == []


@pytest.mark.parametrize(
    "told",
    [
        traceback("starlette/websockets.py", "RuntimeError: other"),
        traceback("starlette/routing.py", CLOSED),
        traceback("streamlit/runtime/state/session_state.py", "KeyError: 1"),
    ],
)
def test_any_other_exception_on_the_way_through_our_files_is(told, tmp_path):
    (line,) = failures(THEIRS + told + THEIRS, tmp_path)
    assert line == OURS.splitlines()[0]
