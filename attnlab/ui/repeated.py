"""Parts of a page that are drawn again by themselves, by a timer in the browser."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

_LATER = "repeated_parts"


@contextmanager
def repeated_parts_last() -> Iterator[None]:
    """Within it a page is drawn; its repeated parts follow at the end, each in its place.

    A timer runs from the moment that the browser hears of it. If it rang while the server was
    still sending the rest of the page, Streamlit could lose that rest: a request that comes
    between the end of a script and its last messages makes it forget them.
    """
    st.session_state[_LATER] = []
    yield
    for draw in st.session_state.pop(_LATER):
        draw()


def draw_repeatedly(
    draw: Callable[..., None], *arguments: Any, key: str, seconds: float | None
) -> None:
    """Draw a fragment here, and again every so many seconds; None: only when its controls move.

    It is drawn after the rest of the page, and so must not be followed by `st.stop`.
    """
    place = st.container()

    def draw_in_place() -> None:
        with place:
            st.fragment(draw, key=key, run_every=seconds)(*arguments)

    st.session_state[_LATER].append(draw_in_place)
