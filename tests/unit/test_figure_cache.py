"""Figures computed in the background: once each, bounded, and cancelled when unwanted."""

import gc
import threading
import time
import weakref

import pytest

from attnlab.configuration.cancellation import check_in
from attnlab.ui.core.figures import FutureCache
from attnlab.ui.core.session import OpenSessions, Session
from tests.unit.live_runs import PATIENCE, until


class Thing:
    """A result or an asker that can be referenced weakly."""


@pytest.fixture
def cache():
    return FutureCache()


@pytest.fixture
def asker():
    return Thing()


def counted():
    """A function, and the arguments that it was called with."""
    calls = []

    def function(*arguments):
        calls.append(arguments)
        return Thing()

    return function, calls


def test_equal_questions_from_many_threads_are_computed_once(cache, asker):
    function, calls = counted()
    gate, found = threading.Barrier(8), []

    def ask():
        gate.wait(PATIENCE)
        found.append(cache.submit((function, 1, "a"), asker).result(PATIENCE))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(found) == 8
    assert len(set(map(id, found))) == 1
    assert calls == [(1, "a")]


def test_an_exception_is_kept_and_the_next_question_is_computed(cache, asker):
    def refuse(value):
        calls.append(value)
        raise ValueError(f"`value` is {value}")

    calls = []
    for _ in range(2):
        with pytest.raises(ValueError, match="`value` is 7"):
            cache.submit((refuse, 7), asker).result(PATIENCE)
    assert calls == [7]
    assert cache.known((refuse, 7))
    assert cache.submit((abs, -3), asker).result(PATIENCE) == 3


def test_only_the_last_results_are_kept(asker):
    cache, (function, calls) = FutureCache(most=8), counted()
    watched = weakref.ref(cache.submit((function, "first"), asker).result(PATIENCE))
    for number in range(7):
        cache.submit((function, number), asker).result(PATIENCE)
    # A new request renews it.
    assert cache.submit((function, "first"), asker).result(PATIENCE) is watched()
    for number in range(7, 15):
        cache.submit((function, number), asker).result(PATIENCE)
    # The worker may hold its last piece of work until it gets another.
    cache.submit((abs, 0), asker).result(PATIENCE)
    gc.collect()
    assert watched() is None
    cache.submit((function, "first"), asker).result(PATIENCE)
    assert calls.count(("first",)) == 2


def test_an_unwanted_question_is_dropped_before_its_turn_and_can_be_asked_again(cache, asker):
    gate, (function, calls) = threading.Event(), counted()
    cache.submit((gate.wait, PATIENCE), asker)
    future = cache.submit((function, 1), asker)
    cache.release((function, 1), asker)
    gate.set()
    until(future.cancelled)
    assert calls == []
    assert isinstance(cache.submit((function, 1), asker).result(PATIENCE), Thing)


@pytest.mark.parametrize("how", ["released", "gone", "page closed"])
def test_a_running_computation_ends_where_it_checks_in(cache, how):
    begun, visitor = threading.Event(), Session()
    asker = visitor.asker if how == "page closed" else Thing()

    def endless():
        begun.set()
        while True:
            check_in()
            time.sleep(0.001)

    future = cache.submit((endless,), asker)
    assert begun.wait(PATIENCE)
    if how == "released":
        cache.release((endless,), asker)
    del asker
    if how == "page closed":
        OpenSessions().leave(visitor)
    gc.collect()
    until(future.cancelled)


def test_what_another_session_wants_goes_on(cache, asker):
    gate, begun, other = threading.Event(), threading.Event(), Thing()

    def slow():
        begun.set()
        assert gate.wait(PATIENCE)
        check_in()
        return 5

    future = cache.submit((slow,), asker)
    assert begun.wait(PATIENCE)
    assert cache.submit((slow,), other) is future
    cache.release((slow,), asker)
    gate.set()
    assert future.result(PATIENCE) == 5


def test_results_computed_elsewhere_are_kept(cache, asker):
    function, calls = counted()
    assert not cache.known((function, 1))
    cache.put((function, 1), "found")
    assert cache.known((function, 1))
    assert cache.submit((function, 1), asker).result(PATIENCE) == "found"
    assert calls == []


def test_slow_keys_of_one_session_do_not_delay_another(cache, asker):
    gate, other = threading.Event(), Thing()
    slow = [cache.submit((gate.wait, PATIENCE + number), asker) for number in range(3)]
    shared = cache.submit((abs, -4), asker)
    assert cache.submit((abs, -3), other).result(PATIENCE) == 3
    # What both need does not wait for the slow keys of one.
    assert cache.submit((abs, -4), other) is shared
    assert shared.result(PATIENCE) == 4
    assert not any(future.done() for future in slow)
    gate.set()
    assert all(future.result(PATIENCE) for future in slow)
