"""The timers of a page start when all of it is on its way to the browser."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from attnlab.experiment import Experiment
from attnlab.links import to_query
from tests.e2e.train_page import TrainPage

pytestmark = pytest.mark.e2e


def _listen(page: Page) -> list[ForwardMsg]:
    """All that the server will say to this tab."""
    messages = []

    def keep(frame: bytes) -> None:
        messages.append(ForwardMsg.FromString(frame))

    page.on("websocket", lambda socket: socket.on("framereceived", keep))
    return messages


def _late_parts(messages: list[ForwardMsg]) -> tuple[int, list[str]]:
    """How many timers were started, and what came of the same page after one of them."""
    timers, late, started = 0, [], False
    for message in messages:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            started = False
        elif kind == "auto_rerun":
            timers, started = timers + 1, True
        elif kind == "delta" and started and not message.delta.fragment_id:
            late.append(str(message.delta)[:200])
    return timers, late


def test_while_the_optimum_is_worked_out(new_page, server):
    page = new_page()
    messages = _listen(page)
    # A process that no other test asks for takes a while.
    query = to_query(Experiment(seed=321, length=29))
    page.goto(f"{server.url}/generators?{urlencode(query)}")
    page.get_by_text("Working out the figures below").wait_for()
    page.get_by_text("Working out the figures below").wait_for(state="detached")
    timers, late = _late_parts(messages)
    assert timers > 0
    assert late == []


def test_while_a_run_is_watched(new_page, server):
    train = TrainPage(new_page())
    messages = _listen(train.page)
    train.page.goto(server.url)
    train.wait_for("idle")
    train.start_long_run()
    train.fill("learning_rate", 0.02)
    train.wait_for("running")
    train.press("pause")
    train.wait_for("paused")
    timers, late = _late_parts(messages)
    assert timers > 1
    assert late == []
