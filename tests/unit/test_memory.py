"""When a hosted server gives memory back, and when it is full."""

import gc
import weakref

import pytest

from attnlab.configuration.environment import bytes_of_machine
from attnlab.live.jobs import WorkQueue
from attnlab.live.live_run import LiveRun
from attnlab.runs.library import Library
from attnlab.ui.core.server import Memory
from attnlab.ui.core.session import OpenSessions, Session
from tests.unit.live_runs import finished
from tests.unit.small_experiments import SMALL

MEGA = 1_000_000


class Server:
    """A clock, and how much a process holds of which how much can be freed."""

    def __init__(self, held, spare=0):
        self.now, self.held, self.spare, self.times = 0.0, held * MEGA, spare * MEGA, 0
        self.forgotten = []
        self.memory = Memory(
            most=2_000 * MEGA,
            used=lambda: self.held + self.spare,
            give_back=self.free,
            clock=lambda: self.now,
        )

    def free(self):
        self.spare, self.times = 0, self.times + 1

    def ends(self):
        self.memory.session_ended(lambda: self.forgotten.append(self.now))

    def looks(self, *, seconds):
        for _ in range(seconds):
            self.now += 1
            self.memory.look()


def test_a_session_is_collected_once_it_is_forgotten():
    server = Server(600, spare=50)
    server.looks(seconds=300)
    assert server.times == 0
    server.ends()
    server.looks(seconds=120)
    assert server.times == 0
    assert server.forgotten == []
    server.looks(seconds=10)
    assert (server.times, len(server.forgotten)) == (1, 1)
    server.looks(seconds=600)
    assert server.times == 1


def test_sessions_that_end_one_after_another_are_all_collected():
    server = Server(600)
    server.ends()
    server.looks(seconds=10)
    server.ends()
    server.looks(seconds=120)
    server.spare = 50 * MEGA
    server.looks(seconds=10)
    assert (server.times, server.spare, len(server.forgotten)) == (2, 0, 2)


@pytest.mark.slow
def test_a_closed_session_holds_nothing_unless_it_returns(monkeypatch):
    server, sessions = Server(600), OpenSessions()
    monkeypatch.setattr("attnlab.ui.core.session.hosted", lambda: True)
    monkeypatch.setattr("attnlab.ui.core.session.memory", lambda: server.memory)
    closed, back = Session(page="train"), Session(page="train")
    library = closed.library = Library(None)
    # The callbacks of its buttons, which Streamlit keeps, hold the run itself.
    run = closed.run = LiveRun(SMALL)
    held = weakref.ref(library), weakref.ref(finished(run).latest.model)
    del library
    for each in (closed, back):
        sessions.add(each)
        sessions.leave(each)
    sessions.add(back)
    server.looks(seconds=130)
    gc.collect()
    assert [each() for each in held] == [None, None]
    assert (closed.page, back.page) == (None, "train")


def test_visitors_who_come_and_go_do_not_put_it_off():
    server = Server(600)
    for _ in range(100):
        server.ends()
        server.looks(seconds=10)
    assert server.times in (7, 8)


def test_a_server_that_holds_much_frees_it_at_once_and_only_when_it_has_grown():
    server = Server(700, spare=600)
    server.looks(seconds=1)
    assert (server.times, server.memory.is_full) == (1, False)
    server.held = 1_300 * MEGA
    server.looks(seconds=100)
    assert server.times == 2
    server.spare = 50 * MEGA
    server.looks(seconds=100)
    assert server.times == 2
    server.spare = 150 * MEGA
    server.looks(seconds=1)
    assert server.times == 3


def test_a_server_that_has_nothing_to_free_begins_no_long_work():
    server = Server(1_750)
    queue = WorkQueue(1, is_full=lambda: server.memory.is_full)
    place = queue.join()
    assert place.wait()
    assert place.reason_to_end() == ""
    server.looks(seconds=1)
    assert place.reason_to_end() == "the server's memory is full"
    server.held = 700 * MEGA
    server.looks(seconds=1)
    assert place.reason_to_end() == ""


def test_the_operator_may_say_how_much_a_server_holds(monkeypatch):
    monkeypatch.delenv("ATTNLAB_MEMORY", raising=False)
    of_the_machine = bytes_of_machine()
    assert of_the_machine > 500 * MEGA
    monkeypatch.setenv("ATTNLAB_MEMORY", "2000")
    assert bytes_of_machine() == 2_000 * MEGA
    for text in ("0", "-1", "2g"):
        monkeypatch.setenv("ATTNLAB_MEMORY", text)
        with pytest.raises(ValueError, match="`ATTNLAB_MEMORY`"):
            bytes_of_machine()
