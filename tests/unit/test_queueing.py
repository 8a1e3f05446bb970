"""The queue of trainings: never more than the places, first come first served, no one lost."""

import threading
import time

import hypothesis
import pytest
from hypothesis import strategies as st

from attnlab.live.jobs import WorkQueue
from tests.unit.live_runs import PATIENCE, Clock, until


def waiting_thread(place, answers):
    thread = threading.Thread(target=lambda: answers.append((place, place.wait())))
    thread.start()
    return thread


@pytest.mark.parametrize("places", [0, -1, 0.5])
def test_a_queue_without_a_place_is_refused(places):
    with pytest.raises(ValueError, match="`places` is"):
        WorkQueue(places)


def test_those_who_wait_are_told_their_place_and_move_up():
    queue = WorkQueue(2)
    first, second, third, fourth = (queue.join() for _ in range(4))
    assert [place.number for place in (first, second, third, fourth)] == [0, 0, 1, 2]
    assert fourth.message() == "waiting: place 2 in the queue, 2 computations at a time"
    third.leave()
    assert fourth.number == 1
    first.leave()
    assert (second.number, fourth.number) == (0, 0)
    assert fourth.message() == ""


def test_who_leaves_while_waiting_hears_at_once_and_gets_no_turn():
    queue, answers = WorkQueue(1), []
    queue.join()
    second = queue.join()
    thread = waiting_thread(second, answers)
    second.leave()
    thread.join(PATIENCE)
    assert answers == [(second, False)]
    assert queue.join().number == 1


@hypothesis.given(
    places=st.integers(1, 3),
    moves=st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=40),
)
def test_the_line_behaves_as_a_list(places, moves):
    """None joins, a number lets that one leave; the model is a plain list."""
    queue, line, everybody = WorkQueue(places), [], []
    for move in moves:
        if move is None:
            everybody.append(queue.join())
            line.append(everybody[-1])
        elif move < len(everybody):
            everybody[move].leave()
            line = [place for place in line if place is not everybody[move]]
        for place in everybody:
            expected = max(0, line.index(place) + 1 - places) if place in line else 0
            assert place.number == expected


def test_turns_are_given_in_the_order_of_coming():
    queue, answers = WorkQueue(1), []
    places = [queue.join() for _ in range(6)]
    threads = [waiting_thread(place, answers) for place in reversed(places)]
    for number, place in enumerate(places):
        until(lambda number=number: len(answers) == number + 1)
        place.leave()
    for thread in threads:
        thread.join(PATIENCE)
    assert answers == [(place, True) for place in places]


def test_a_turn_is_over_after_its_seconds_which_waiting_does_not_use_up():
    clock = Clock()
    queue = WorkQueue(1, seconds=120.0, clock=clock)
    first, second = queue.join(), queue.join()
    assert first.wait()
    clock.now += 120.0
    assert first.reason_to_end() == ""
    clock.now += 1.0
    assert first.reason_to_end() == "its turn of 120 s is over"
    first.leave()
    assert second.wait()
    assert second.reason_to_end() == ""


def test_a_run_that_nobody_watches_makes_way():
    clock = Clock()
    place = WorkQueue(1, patience=60.0, clock=clock).join()
    assert place.wait()
    for _ in range(10):
        clock.now += 59.0
        assert place.reason_to_end() == ""
        place.watch()
    clock.now += 61.0
    assert place.reason_to_end() == "its page was not open for 60 s"
    place.watch()
    assert place.reason_to_end() == ""


@pytest.mark.parametrize("hours", [-5, 5])
def test_the_time_of_day_may_jump(monkeypatch, hours):
    queue = WorkQueue(1, seconds=120.0, patience=60.0)
    place = queue.join()
    assert place.wait()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3600 * hours)
    assert place.reason_to_end() == ""
    assert queue.clock is time.monotonic
