"""Live runs that share a machine: they wait for their turn, and give it back whatever happens."""

import random
import threading
import time

import pytest

import attnlab.live.live_run
import attnlab.training.loop
from attnlab.live.jobs import WorkQueue
from attnlab.live.live_run import LiveRun
from tests.unit.live_runs import (
    LONG,
    PATIENCE,
    Clock,
    assert_same_run,
    finished,
    paused_after,
    training_threads,
    until,
)
from tests.unit.small_experiments import SMALL

WAITING = "waiting: place 1 in the queue, 1 computation at a time"


@pytest.fixture
def sharing():
    """Makes runs that share a queue, and sees that none leaves a thread behind."""
    runs = []

    def make(queue, experiment=LONG):
        runs.append(LiveRun(experiment, queue=queue))
        return runs[-1]

    yield make
    for run in runs:
        run.pause()
    until(lambda: not training_threads())


def training(run):
    run.start()
    until(lambda: run.snapshot().step > 0)
    return run


def waiting(run):
    run.start()
    seen = run.snapshot()
    assert (seen.state, seen.message, seen.step) == ("compiling", WAITING, 0)
    assert seen.in_queue == 1
    assert seen.active
    return run


def until_state(run, state):
    until(lambda: run.snapshot().state == state)


@pytest.mark.slow
def test_a_second_run_trains_when_the_first_pauses(sharing):
    queue = WorkQueue(1)
    first, second = training(sharing(queue)), waiting(sharing(queue))
    first.pause()
    until(lambda: second.snapshot().step > 0)
    assert (second.snapshot().message, second.snapshot().in_queue) == ("", 0)
    assert first.snapshot().state == "paused"
    first.start()
    seen = first.snapshot()
    # It keeps its pictures while it waits again.
    assert (seen.state, seen.message) == ("compiling", WAITING)
    assert seen.step == seen.latest.step > 0
    second.pause()
    until(lambda: first.snapshot().step > seen.step)
    assert first.snapshot().state == "running"


def test_a_run_that_waits_can_be_reset_at_once(sharing):
    queue = WorkQueue(1)
    training(sharing(queue))
    second, third = waiting(sharing(queue)), sharing(queue)
    third.start()
    second.reset(SMALL)
    assert (second.snapshot().state, second.snapshot().message) == ("idle", "")
    assert third.snapshot().message == WAITING


def test_a_stored_run_waits_too_and_is_not_lost_by_a_pause(sharing):
    queue = WorkQueue(1)
    stored = sharing(WorkQueue(), SMALL)
    paused_after(stored, 5)
    first, second = training(sharing(queue)), sharing(queue)
    second.resume(stored.stored())
    assert second.snapshot().message == WAITING
    second.pause()
    assert second.wait(PATIENCE)
    assert (second.snapshot().state, second.snapshot().step) == ("paused", 5)
    first.pause()
    second.start()
    assert second.wait(PATIENCE)
    assert second.snapshot().state == "done"
    finished(stored)
    assert_same_run(stored, second)


def test_steps_asked_for_while_waiting_are_taken_then(sharing):
    queue = WorkQueue(1)
    first, second = training(sharing(queue)), sharing(queue)
    for _ in range(3):
        second.step()
    first.pause()
    until_state(second, "paused")
    assert second.snapshot().step == 3


def test_a_turn_that_is_over_pauses_the_run_which_can_go_on(sharing):
    clock = Clock()
    run = training(sharing(WorkQueue(1, seconds=120.0, clock=clock)))
    clock.now += 121.0
    assert run.wait(PATIENCE)
    seen = run.snapshot()
    assert (seen.state, seen.message) == (
        "paused",
        "its turn of 120 s is over: press Continue",
    )
    assert 0 < seen.step == seen.latest.step
    run.start()
    until(lambda: run.snapshot().step > seen.step)
    assert run.snapshot().message == ""


def test_never_more_at_once_than_the_places_whatever_is_pressed(sharing, monkeypatch):
    places, real = 2, attnlab.training.loop.advance
    lock, inside, most, full = threading.Lock(), [0], [0], threading.Event()

    def counted(*arguments, **options):
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            if inside[0] >= places:
                full.set()
        # Chunks are short: the first waits until another trains beside it, as two places allow.
        full.wait(PATIENCE)
        try:
            return real(*arguments, **options)
        finally:
            with lock:
                inside[0] -= 1

    monkeypatch.setattr(attnlab.training.loop, "advance", counted)
    queue = WorkQueue(places)
    runs = [sharing(queue) for _ in range(6)]

    def press(number):
        presses = random.Random(number)
        for _ in range(25):
            getattr(runs[number], presses.choice(["start", "start", "pause", "step", "reset"]))()
            time.sleep(presses.random() / 500)
        runs[number].start()

    threads = [threading.Thread(target=press, args=(number,)) for number in range(len(runs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    def all_had_their_turn():
        begun = [run for run in runs if run.snapshot().step > 0]
        for run in begun:
            run.pause()
        return len(begun) == len(runs)

    until(all_had_their_turn)
    assert most[0] == places
    until(lambda: not queue.line)
