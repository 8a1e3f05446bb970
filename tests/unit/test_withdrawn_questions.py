"""Questions that nobody wants answered any more."""

import threading

from attnlab.live.answers import Answers


def test_a_waiting_question_is_dropped_and_may_be_asked_anew():
    gate, asked, answers = threading.Event(), [], Answers()

    def slow():
        return gate.wait(60)

    def note(number):
        asked.append(number)
        return number

    first = answers.ask(slow)
    answers.ask(note, 1)
    answers.withdraw(note, 1)
    again = answers.ask(note, 2)
    gate.set()
    assert first.result(60)
    assert again.result(60) == 2
    assert asked == [2]
    assert answers.ask(note, 1).result(60) == 1


def test_an_answer_stays():
    answers = Answers()
    future = answers.ask(abs, -1)
    assert future.result(60) == 1
    answers.withdraw(abs, -1)
    assert answers.ask(abs, -1) is future
    answers.withdraw(abs, -2)
