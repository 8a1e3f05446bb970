"""What is known of a process, asked for in the background and drawn when it is there."""

import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from typing import Any

import streamlit as st

from attnlab.answers import Answers
from attnlab.experiment import Experiment
from attnlab.feasibility import Verdict, feasibility
from attnlab.number_text import show_measured
from attnlab.optimum import Best
from attnlab.ui.fragments import fragment
from attnlab.ui.outside import draw_error, draw_warning

# Seconds that a page may wait for its answers before it is drawn with gaps.
_UNNOTICED = 0.1
_UNANSWERED = "unanswered_question"


@st.cache_resource(show_spinner=False)
def _answers() -> Answers:
    return Answers()


def ask(function: Callable[..., Any], *arguments: Hashable) -> Future:
    """The answer of a slow pure function, shared by all sessions of the server."""
    return _answers().ask(function, *arguments)


def answer_or_none(function: Callable[..., Any], *arguments: Hashable) -> Any:
    """The answer if it is there already, else None; asked for in any case."""
    future = ask(function, *arguments)
    return future.result() if future.done() else None


def answers_in_turn(*questions: tuple[Any, ...]) -> list[Any]:
    """The answers that are there, None for the others; each a function and its arguments.

    A question is put when the one before it is answered, and withdrawn when others are asked, so
    that somebody who tries one process after another leaves no queue behind. A `ValueError` is
    shown, and ends the page.
    """
    answers: list[Any] = [None] * len(questions)
    before = st.session_state.pop(_UNANSWERED, None)
    if before is not None and before not in questions:
        _answers().withdraw(*before)
    deadline = time.monotonic() + _UNNOTICED
    for number, question in enumerate(questions):
        future = ask(*question)
        if not wait([future], timeout=max(0.0, deadline - time.monotonic())).done:
            st.session_state[_UNANSWERED] = question
            break
        if isinstance(error := future.exception(), ValueError):
            draw_error(str(error))
            st.stop()
        answers[number] = future.result()
    return answers


def draw_waiting(*questions: tuple[Any, ...]) -> None:
    """Draw the page again with every further answer; until the last, say that more is to come."""
    pending = next((question for question in questions if not ask(*question).done()), None)
    fragment(_draw_waiting, key="waiting", seconds=0.5 if pending else None)(pending)


def _draw_waiting(pending: tuple[Any, ...] | None) -> None:
    if pending is None:
        return
    if ask(*pending).done():
        st.rerun()
    st.caption(":material/hourglass_top: Working out the figures below …")


def draw_verdict(experiment: Experiment) -> None:
    """Under the Start button: what the settings can come to, before anything is trained."""
    pending = not ask(feasibility, experiment).done()
    fragment(_draw_verdict, key="verdict", seconds=0.5 if pending else None)(experiment, pending)


def _draw_verdict(experiment: Experiment, pending: bool) -> None:
    future = ask(feasibility, experiment)
    if not future.done():
        st.caption(":material/hourglass_top: Working out what can be learned …")
        return
    if pending:
        # The timer has done its work.
        st.rerun()
    verdict: Verdict = future.result()
    text = f"Best possible from {experiment.length} days: {figures(verdict.best)}."
    if verdict.reachable.nll > verdict.best.nll + 1e-3:
        text += f" Within reach of these settings: {figures(verdict.reachable)}."
    with st.container(key="verdict"):
        if verdict.findings:
            draw_warning(text, *verdict.findings, icon=":material/report:")
        else:
            st.caption(f":material/task_alt: {text}")


def figures(best: Best) -> str:
    """Accuracy and loss of a reference predictor, with errors or the word exact."""
    if best.exact:
        return f"accuracy {best.accuracy:.3f}, loss {best.nll:.3f} nats (exact)"
    return (
        f"accuracy {show_measured(best.accuracy, best.accuracy_stderr)}, "
        f"loss {show_measured(best.nll, best.nll_stderr)} nats (estimated)"
    )
