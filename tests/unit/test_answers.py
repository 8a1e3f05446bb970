"""Questions answered in the background: once each, in order, and not for ever."""

import gc
import threading
import time
import weakref

import pytest

from attnlab.generators.interruption import check_in
from attnlab.live.answers import Answers

PATIENCE = 20


class Thing:
    """A result that can be watched."""


@pytest.fixture
def answers():
    return Answers()


def counted(results=None):
    """A function that says how often it was called with what."""
    calls = []

    def function(*arguments):
        calls.append(arguments)
        return Thing() if results is None else results(*arguments)

    return function, calls


def test_the_same_question_is_answered_once(answers):
    function, calls = counted()
    first, again = answers.ask(function, 1, "a"), answers.ask(function, 1, "a")
    assert first.result(PATIENCE) is again.result(PATIENCE)
    assert answers.ask(function, 1, "a").result(PATIENCE) is first.result()
    assert calls == [(1, "a")]


def test_other_arguments_and_other_functions_are_other_questions(answers):
    function, calls = counted()
    other, other_calls = counted()
    found = [answers.ask(*q) for q in ((function, 1), (function, 2), (other, 1), (function,))]
    assert len({id(future.result(PATIENCE)) for future in found}) == 4
    assert calls == [(1,), (2,), ()]
    assert other_calls == [(1,)]


def test_asking_does_not_wait(answers):
    gate, begun = threading.Event(), threading.Event()

    def slow():
        begun.set()
        assert gate.wait(PATIENCE)
        return threading.current_thread()

    future = answers.ask(slow)
    assert begun.wait(PATIENCE)
    assert not future.done()
    behind = answers.ask(int)
    assert not behind.done()
    gate.set()
    assert future.result(PATIENCE) is not threading.current_thread()
    assert behind.result(PATIENCE) == 0


def test_an_exception_is_kept_and_the_next_question_is_answered(answers):
    def refuse(value):
        calls.append(value)
        raise ValueError(f"`value` is {value}")

    calls = []
    for _ in range(2):
        future = answers.ask(refuse, 7)
        with pytest.raises(ValueError, match="`value` is 7"):
            future.result(PATIENCE)
        assert isinstance(future.exception(), ValueError)
    assert calls == [7]
    assert answers.ask(abs, -3).result(PATIENCE) == 3


def test_only_the_last_128_are_remembered(answers):
    function, calls = counted()
    watched = weakref.ref(answers.ask(function, "first").result(PATIENCE))
    for i in range(127):
        answers.ask(function, i).result(PATIENCE)
    # Asked again in time, it is as good as new.
    assert answers.ask(function, "first").result(PATIENCE) is watched()
    for i in range(127, 254):
        answers.ask(function, i).result(PATIENCE)
    assert calls.count(("first",)) == 1
    assert watched() is not None
    answers.ask(function, 254).result(PATIENCE)
    # The worker may hold its last piece of work until it gets another.
    answers.ask(abs, 0).result(PATIENCE)
    gc.collect()
    assert watched() is None
    answers.ask(function, "first").result(PATIENCE)
    assert calls.count(("first",)) == 2


def test_questions_from_many_threads_are_answered_once(answers):
    function, calls = counted()
    gate, found = threading.Barrier(8), []

    def ask():
        gate.wait(PATIENCE)
        found.append(answers.ask(function, "same").result(PATIENCE))

    askers = [threading.Thread(target=ask) for _ in range(8)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join(PATIENCE)
    assert len(set(map(id, found))) == 1
    assert len(found) == 8
    assert calls == [("same",)]


def test_arguments_that_cannot_be_remembered_are_refused_at_once(answers, as_users_run):
    with pytest.raises(TypeError, match="unhashable"):
        answers.ask(len, [1, 2])


def until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.002)


def test_a_question_given_up_before_its_turn_is_not_answered(answers):
    gate, begun = threading.Event(), threading.Event()
    function, calls = counted()

    def slow():
        begun.set()
        assert gate.wait(PATIENCE)

    answers.ask(slow)
    assert begun.wait(PATIENCE)
    future = answers.ask(function, 1)
    answers.withdraw(function, 1)
    gate.set()
    until(future.cancelled)
    assert calls == []
    assert isinstance(answers.ask(function, 1).result(PATIENCE), Thing)


def test_a_question_given_up_ends_where_it_checks_in(answers):
    begun = threading.Event()

    def endless():
        begun.set()
        while True:
            check_in()
            time.sleep(0.001)

    future = answers.ask(endless)
    assert begun.wait(PATIENCE)
    answers.withdraw(endless)
    until(future.cancelled)
    assert answers.ask(abs, -3).result(PATIENCE) == 3


def test_what_is_asked_again_is_not_given_up(answers):
    gate, begun = threading.Event(), threading.Event()

    def slow():
        begun.set()
        assert gate.wait(PATIENCE)
        check_in()
        return 5

    future = answers.ask(slow)
    assert begun.wait(PATIENCE)
    answers.withdraw(slow)
    assert answers.ask(slow) is future
    gate.set()
    assert future.result(PATIENCE) == 5


def test_a_question_that_nobody_asks_again_is_given_up():
    answers = Answers(patience=0.05)

    def endless():
        while True:
            check_in()
            time.sleep(0.001)

    until(answers.ask(endless).cancelled)
    assert answers.ask(abs, -3).result(PATIENCE) == 3


def test_answers_found_elsewhere_are_kept(answers):
    function, calls = counted()
    assert answers.known(function, 1) is None
    answers.keep("found", function, 1)
    assert answers.known(function, 1) == "found"
    assert answers.ask(function, 1).result(PATIENCE) == "found"
    assert calls == []


def test_what_answers_leave_behind_is_dropped_after_as_many_as_are_remembered():
    renewed = []
    answers = Answers(most=3, renew=lambda: renewed.append(len(calls)))
    function, calls = counted()
    for number in (0, 1, 1, 2, 3, 4, 5, 6):
        answers.ask(function, number).result(PATIENCE)
    # Before the fourth new answer and the seventh.
    assert renewed == [3, 6]
