"""Iterators in background threads: what is seen of them, and that they end."""

import itertools
import logging
import threading
import time

from attnlab.background import Background

PATIENCE = 30.0


def until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.002)


def test_the_last_item_stays():
    work = Background(lambda: iter([1, 2, 3]))
    assert work.wait(PATIENCE)
    assert work.state() == (3, False, "")


def test_nothing_at_all():
    work = Background(lambda: iter(()))
    assert work.wait(PATIENCE)
    assert work.state() == (None, False, "")


def test_the_newest_item_is_seen_while_more_is_to_come():
    gate = threading.Event()

    def items():
        yield "first"
        assert gate.wait(PATIENCE)
        yield "second"

    work = Background(items)
    until(lambda: work.state().latest == "first")
    assert work.state() == ("first", True, "")
    gate.set()
    assert work.wait(PATIENCE)
    assert work.state() == ("second", False, "")


def test_stop_ends_an_endless_iterator_and_keeps_what_it_gave():
    work = Background(itertools.count)
    until(lambda: work.state().latest is not None)
    work.stop()
    work.stop()
    assert work.wait(PATIENCE)
    last = work.state()
    assert last.latest >= 0
    assert not last.running
    assert work.state() == last


def test_stop_does_not_wait_for_the_rest():
    work = Background(itertools.count, rest=1e6)
    until(lambda: work.state().latest == 0)
    work.stop()
    assert work.wait(PATIENCE)
    assert work.state() == (0, False, "")


def test_a_stop_closes_the_iterator():
    closed = threading.Event()

    def items():
        try:
            yield from itertools.count()
        finally:
            closed.set()

    work = Background(items)
    until(lambda: work.state().latest is not None)
    work.stop()
    assert work.wait(PATIENCE)
    assert closed.wait(PATIENCE)


def test_an_error_is_told_and_what_came_before_it_kept(caplog):
    def items():
        yield 7
        raise ValueError("`width` is 0")

    with caplog.at_level(logging.CRITICAL):
        work = Background(items)
        assert work.wait(PATIENCE)
    assert work.state() == (7, False, "ValueError: `width` is 0")


def test_an_error_before_the_first_item(caplog):
    def refuse():
        raise ValueError("no")

    with caplog.at_level(logging.CRITICAL):
        work = Background(refuse)
        assert work.wait(PATIENCE)
    assert work.state() == (None, False, "ValueError: no")


def test_threads_are_daemons_and_leave():
    def ours():
        return [thread for thread in threading.enumerate() if thread.name == "attnlab-background"]

    work = Background(itertools.count)
    assert all(thread.daemon for thread in ours())
    assert ours()
    work.stop()
    until(lambda: not ours())
