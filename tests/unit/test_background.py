"""Iterators in background threads: what is seen of them, and that they end."""

import itertools
import logging
import threading
import time

import pytest

from attnlab.configuration.cancellation import check_in
from attnlab.live.jobs import Job, WorkQueue
from tests.unit.live_runs import PATIENCE, Clock, until


def begun(make, **rest):
    work = Job(make, **rest)
    work.start()
    return work


def seen(work):
    """All of its state but the seconds."""
    return work.state()[:-1]


@pytest.mark.parametrize(("items", "last"), [([1, 2, 3], 3), ([], None)])
def test_the_last_item_stays(items, last):
    work = begun(lambda: iter(items))
    assert work.wait(PATIENCE)
    assert seen(work) == (last, False, True, "", "")


def test_the_newest_item_is_seen_while_more_is_to_come():
    gate = threading.Event()

    def items():
        yield "first"
        assert gate.wait(PATIENCE)
        yield "second"

    work = begun(items)
    until(lambda: work.state().latest == "first")
    assert seen(work) == ("first", True, False, "", "")
    gate.set()
    assert work.wait(PATIENCE)
    assert seen(work) == ("second", False, True, "", "")


def test_stop_ends_an_endless_iterator_and_keeps_what_it_gave():
    work = begun(itertools.count)
    until(lambda: work.state().latest is not None)
    work.pause()
    work.pause()
    assert work.wait(PATIENCE)
    last = work.state()
    assert last.latest >= 0
    assert not last.running
    assert work.state() == last


def test_stop_does_not_wait_for_the_rest():
    work = begun(itertools.count, rest=1e6)
    until(lambda: work.state().latest == 0)
    work.pause()
    assert work.wait(PATIENCE)
    assert seen(work) == (0, False, False, "", "")


def test_paused_work_goes_on_where_it_was():
    made = []

    def items():
        made.append(None)
        yield from itertools.count()

    work = begun(items, rest=1e6)
    until(lambda: work.state().latest == 0)
    for last in (1, 2):
        work.pause()
        assert work.wait(PATIENCE)
        work.start()
        until(lambda last=last: work.state().latest == last)
    work.pause()
    assert work.wait(PATIENCE)
    assert made == [None]
    assert seen(work) == (2, False, False, "", "")


def test_a_pause_taken_back_at_once_is_none():
    gate, work = threading.Event(), None

    def items():
        yield 0
        assert gate.wait(PATIENCE)
        yield 1

    work = begun(items)
    until(lambda: work.state().latest == 0)
    work.pause()
    work.start()
    gate.set()
    until(lambda: work.state().done)
    assert work.state().latest == 1


def test_work_is_cut_off_within_an_item_where_it_checks_in():
    begun_again = []

    def items():
        begun_again.append(None)
        while True:
            check_in()
            time.sleep(0.001)
        yield

    work = begun(items)
    until(lambda: begun_again)
    work.pause()
    assert work.wait(PATIENCE)
    assert seen(work) == (None, False, False, "", "")
    work.start()
    until(lambda: len(begun_again) == 2)
    work.pause()
    assert work.wait(PATIENCE)


def test_it_waits_for_its_turn_and_says_so():
    queue = WorkQueue(1)
    first = begun(itertools.count, queue=queue)
    until(lambda: first.state().latest is not None)
    second, third = (begun(itertools.count, queue=queue) for _ in range(2))
    assert second.state().message.startswith("waiting: place 1 in the queue")
    assert third.state().message.startswith("waiting: place 2 in the queue")
    assert second.state().latest is None
    # Who waits leaves at once, and comes up paused.
    second.pause()
    assert second.wait(PATIENCE)
    assert seen(second) == (None, False, False, "", "")
    first.pause()
    until(lambda: third.state().latest is not None)
    third.pause()
    assert third.wait(PATIENCE)


@pytest.mark.parametrize("within", [False, True], ids=["after an item", "within an item"])
def test_a_turn_ends_and_another_one_goes_on(within):
    clock, at_work = Clock(), []

    def items():
        for number in itertools.count():
            at_work.append(number)
            while within:
                check_in()
                time.sleep(0.001)
            yield number

    work = begun(items, queue=WorkQueue(1, seconds=9, clock=clock))
    until(lambda: at_work)
    clock.now += 10.0
    assert work.wait(PATIENCE)
    assert work.state().message == "its turn of 9 s is over"
    before = len(at_work)
    work.start()
    until(lambda: len(at_work) > before)
    work.pause()
    assert work.wait(PATIENCE)
    assert not work.state().done


def test_work_that_nobody_watches_pauses():
    clock = Clock()
    work = begun(itertools.count, queue=WorkQueue(patience=5, clock=clock))
    until(lambda: work.state().latest is not None)
    clock.now += 6.0
    assert work.wait(PATIENCE)
    assert work.state().message == "its page was not open for 5 s"


@pytest.mark.parametrize("before", [[7], []])
def test_an_error_is_told_and_what_came_before_it_kept(caplog, before):
    def items():
        yield from before
        raise ValueError("`width` is 0")

    with caplog.at_level(logging.CRITICAL):
        work = begun(items)
        assert work.wait(PATIENCE)
    assert seen(work) == (
        before[0] if before else None,
        False,
        True,
        "",
        "ValueError: `width` is 0",
    )


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), MemoryError()])
def test_whatever_ends_the_thread_the_next_one_gets_its_place(caplog, error):
    queue = WorkQueue(1)

    def end():
        raise error

    with caplog.at_level(logging.CRITICAL):
        work, other = begun(end, queue=queue), begun(lambda: iter([7]), queue=queue)
        assert other.wait(PATIENCE)
        assert work.wait(PATIENCE)
    assert other.state().latest == 7
    state = work.state()
    assert (state.running, state.done) == (False, True)
    assert state.error.startswith(type(error).__name__)
    assert not state.error.endswith(": ")


def test_threads_are_daemons_and_leave():
    def ours():
        return [thread for thread in threading.enumerate() if thread.name == "attnlab-background"]

    work = begun(itertools.count)
    assert all(thread.daemon for thread in ours())
    assert ours()
    work.pause()
    until(lambda: not ours())


def test_a_pause_waits_for_an_item_at_which_it_may():
    gate, seen_items = threading.Event(), []

    def items():
        for number in range(4):
            seen_items.append(number)
            yield number
            assert gate.wait(PATIENCE)

    work = begun(items, may_pause=lambda: seen_items[-1] == 2)
    until(lambda: work.state().latest == 0)
    assert not work.is_stopping()
    work.pause()
    assert work.is_stopping()
    gate.set()
    assert work.wait(PATIENCE)
    assert seen(work) == (2, False, False, "", "")


def test_work_whose_turn_comes_while_nobody_watches_does_nothing():
    clock, made = Clock(), []
    queue = WorkQueue(1, patience=5, clock=clock)
    first = begun(itertools.count, queue=queue)
    until(lambda: first.state().latest is not None)
    second = begun(lambda: iter(made.append(None) or ()), queue=queue)
    clock.now += 6.0
    assert first.wait(PATIENCE)
    assert second.wait(PATIENCE)
    assert second.state().message == "its page was not open for 5 s"
    assert made == []


def test_waiting_goes_on_through_a_pause_that_was_taken_back():
    rounds = []

    def items():
        while len(rounds) < 50:
            rounds.append(None)
            yield len(rounds)

    work = begun(items)
    while not work.state().done:
        work.pause()
        work.start()
        assert work.wait(PATIENCE)
        # The waiting caller sees no thread at work, and a start makes the next.
        assert not work.state().running
        work.start()
    assert len(rounds) == 50
