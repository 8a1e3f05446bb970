"""Parts of the page that wait for what is worked out in the background."""

from collections.abc import Callable, Hashable
from concurrent.futures import wait
from functools import partial

from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.process_figures import answer_or_none, ask, draw_gap, is_answered

# Seconds that a part may wait before it is drawn with a gap.
_UNNOTICED = 0.05

Question = tuple[Hashable, ...]


def draw_answered(*questions: Question, draw: Callable[..., None], key: str) -> None:
    """`draw` of all answers when they are there, until then a gap; each a function and arguments.

    Programs are compiled when they are first asked for, which takes a second.
    """
    wait([ask(*question) for question in questions], timeout=_UNNOTICED)

    def is_waiting() -> bool:
        return not all(is_answered(*question) for question in questions)

    draw_while(is_waiting, partial(_draw, questions, draw), key=key)


def _draw(questions: tuple[Question, ...], draw: Callable[..., None]) -> None:
    answers = [answer_or_none(*question) for question in questions]
    if any(answer is None for answer in answers):
        draw_gap()
    else:
        draw(*answers)
