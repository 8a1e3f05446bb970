"""What is known of a process, asked for in the background and drawn when it is there."""

import time
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, wait
from typing import Any

import jax
import streamlit as st

from attnlab.configuration.number_text import show_measured
from attnlab.generators import AbstractGenerator
from attnlab.live.answers import Answers
from attnlab.optimum import FEW_BELIEFS, Best, frequencies, ladder, optimum
from attnlab.training.experiment import Experiment
from attnlab.training.limits import feasibility
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.outside import draw_error

# Seconds that a page may wait for its answers before it is drawn with gaps.
_UNNOTICED = 0.1
# Far above the time between two pictures of a page that waits, on a busy server too.
_PATIENCE = 30.0
_UNANSWERED, _STOPPED = "unanswered_question", "stopped_questions"
# Those that enumerate beliefs, which may take long, or else estimate. The first ones say whether
# it has been done.
_ENUMERATED = (optimum, frequencies, ladder)
_ENUMERATING = (*_ENUMERATED, feasibility)


@st.cache_resource(show_spinner=False)
def _answers() -> Answers:
    # What they compile is of one process each, and of no use once somebody asks about others.
    return Answers(patience=_PATIENCE, renew=jax.clear_caches)


def ask(function: Callable[..., Any], *arguments: Hashable) -> Future:
    """The answer of a slow pure function, shared by all sessions of the server.

    What would take long to enumerate is estimated, unless `enumerate_exactly` has been at work.
    """
    return _answers().ask(*_question(function, *arguments))


def _question(function: Callable[..., Any], *arguments: Hashable) -> tuple[Any, ...]:
    if function in _ENUMERATING and not _is_enumerated(*arguments[:2]):
        return (function, *arguments, FEW_BELIEFS)
    return (function, *arguments)


def _is_enumerated(subject: Experiment | AbstractGenerator, length: int = 0) -> bool:
    if isinstance(subject, Experiment):
        subject, length = subject.generator, subject.length
    return all(_answers().known(each, subject, length) is not None for each in _ENUMERATED)


def enumerate_exactly(generator: AbstractGenerator, length: int) -> Iterator[str]:
    """Work out with all beliefs what pages estimate else; names what comes next."""
    for number, function in enumerate(_ENUMERATED, 1):
        yield f"{function.__name__}, {number} of {len(_ENUMERATED)}"
        _answers().keep(function(generator, length), function, generator, length)


def answer_or_none(function: Callable[..., Any], *arguments: Hashable) -> Any:
    """The answer if it is there already, else None; asked for in any case."""
    future = ask(function, *arguments)
    return future.result() if _is_there(future) else None


def is_answered(function: Callable[..., Any], *arguments: Hashable) -> bool:
    """Whether the answer is there; asked for in any case."""
    return _is_there(ask(function, *arguments))


def _is_there(future: Future) -> bool:
    return future.done() and not future.cancelled()


def answers_in_turn(*questions: tuple[Any, ...]) -> list[Any]:
    """The answers that are there, None for the others; each a function and its arguments.

    A question is put when the one before it is answered, and withdrawn when others are asked or
    Stop is pressed, so that somebody who tries one process after another leaves no queue behind.
    A `ValueError` is shown, and ends the page.
    """
    answers: list[Any] = [None] * len(questions)
    before = st.session_state.pop(_UNANSWERED, None)
    if before is not None and before not in questions:
        _answers().withdraw(*_question(*before))
    if st.session_state.get(_STOPPED) != questions:
        st.session_state.pop(_STOPPED, None)
    deadline = time.monotonic() + _UNNOTICED
    for number, question in enumerate(questions):
        if _STOPPED in st.session_state:
            answers[number] = _answers().known(*_question(*question))
            continue
        future = ask(*question)
        wait([future], timeout=max(0.0, deadline - time.monotonic()))
        if not _is_there(future):
            st.session_state[_UNANSWERED] = question
            break
        if isinstance(error := future.exception(), ValueError):
            draw_error(str(error))
            st.stop()
        answers[number] = future.result()
    return answers


def draw_waiting(*questions: tuple[Any, ...]) -> None:
    """Draw the page again with every further answer; until the last, how far it is, and Stop."""
    if _STOPPED in st.session_state:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("Stopped: some figures below were not worked out.")
            st.button(
                "Work them out",
                key="figures_go_on",
                icon=":material/play_arrow:",
                on_click=st.session_state.pop,
                args=(_STOPPED,),
            )
        return
    pending = st.session_state.get(_UNANSWERED)
    draw_while(
        lambda: pending is not None and not is_answered(*pending),
        lambda: _draw_waiting(pending, questions),
        key="waiting",
        waited=pending is not None,
    )


def draw_gap() -> None:
    """In the place of a figure that is not there: that it is worked out, or why not."""
    if _STOPPED in st.session_state:
        st.caption("Not worked out: it was stopped above.")
    else:
        st.caption(":material/hourglass_top: Working it out …")


def _draw_waiting(pending: tuple[Any, ...] | None, questions: tuple[tuple[Any, ...], ...]) -> None:
    if pending is None:
        return
    number = questions.index(pending) + 1
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            ":material/hourglass_top: Working out the figures below: "
            f"{number} of {len(questions)} …"
        )
        st.button(
            "Stop",
            key="figures_stop",
            icon=":material/stop:",
            on_click=_stop,
            args=(pending, questions),
        )


def _stop(pending: tuple[Any, ...], questions: tuple[tuple[Any, ...], ...]) -> None:
    _answers().withdraw(*_question(*pending))
    st.session_state[_STOPPED] = questions


def accuracy_of(best: Best) -> str:
    """The accuracy of a reference predictor, with its error or the word exact."""
    if best.exact:
        return f"accuracy {best.accuracy:.3f} (exact)"
    return f"accuracy {show_measured(best.accuracy, best.accuracy_stderr)} (estimated)"


def figures(best: Best) -> str:
    """Accuracy and loss of a reference predictor, with errors or the word exact."""
    if best.exact:
        return f"accuracy {best.accuracy:.3f}, loss {best.nll:.3f} nats (exact)"
    return (
        f"accuracy {show_measured(best.accuracy, best.accuracy_stderr)}, "
        f"loss {show_measured(best.nll, best.nll_stderr)} nats (estimated)"
    )
