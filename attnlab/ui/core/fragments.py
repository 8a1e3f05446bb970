"""Parts of a page that are drawn again without the rest.

Streamlit drops messages that are still queued when the next rerun starts. A rerun of the whole
page sends them again; a rerun of a fragment would leave gaps in the page. So scripts end when the
event loop has taken their messages. The report upstream is streamlit/streamlit#9188;
docs/streamlit.md says how to find that this can go.
"""

import asyncio
import functools
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import streamlit as st

from attnlab.ui.core.session import session

# Of the thread that a script runs in.
_DELIVERING = ContextVar("delivering", default=False)
# Longer than any event loop is busy; a script that waits for more has lost its server.
_PATIENCE_SECONDS = 10.0


class _Server:
    """The event loop of the server; None in tests without one."""

    loop: asyncio.AbstractEventLoop | None = None


@st.cache_resource(show_spinner=False)
def _server() -> _Server:
    return _Server()


def keep_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Keep the event loop that sends the messages of scripts."""
    _server().loop = loop


@contextmanager
def delivered() -> Iterator[None]:
    """Wait at the end until all messages were sent. Does nothing inside another one."""
    if _DELIVERING.get():
        yield
        return
    token = _DELIVERING.set(True)
    try:
        yield
    finally:
        _DELIVERING.reset(token)
        _wait_for_loop(_server().loop)


def _wait_for_loop(loop: asyncio.AbstractEventLoop | None) -> None:
    if loop is None or not loop.is_running():
        return
    taken = threading.Event()
    # It takes calls in their order, so this one after all messages.
    loop.call_soon_threadsafe(taken.set)
    taken.wait(_PATIENCE_SECONDS)


def fragment(
    draw: Callable[..., None], *, key: str | None = None, seconds: float | None = None
) -> Callable[..., None]:
    """Make `draw` a fragment: its controls rerun it alone. Also a decorator.

    With `seconds` it is drawn again every this many seconds.
    """

    @functools.wraps(draw)
    def draw_delivered(*arguments: Any) -> None:
        is_alone = not _DELIVERING.get()
        with delivered():
            before = len(session().missing)
            draw(*arguments)
            if is_alone and len(session().missing) > before:
                # The timer that waits for figures is outside this part of the page.
                st.rerun()

    return st.fragment(draw_delivered, key=key, run_every=seconds)


def draw_while(
    waiting_for: Callable[[], Hashable],
    draw: Callable[[], None],
    *,
    key: str,
    seconds: float = 0.5,
    waited: Hashable | None = None,
) -> None:
    """Draw a part of the page, repeatedly while `waiting_for` returns something true.

    When its value changes the whole page is drawn again, and the timer starts or stops.

    Args:
        waiting_for: Returns what the part waits for.
        draw: Draws the part.
        key: The key of the fragment.
        seconds: Between two draws. Up to half a second Streamlit does not fade the old content.
        waited: The value that the rest of the page was drawn with; by default the current one.
    """
    before = waiting_for() if waited is None else waited

    def draw_or_rerun() -> None:
        if waiting_for() != before:
            st.rerun()
        draw()

    fragment(draw_or_rerun, key=key, seconds=seconds if before else None)()


def draw_in_code(*code: str, lead: str = "", title: str = "In code", key: str = "in_code") -> None:
    """Draw scripts in a panel, below the words that lead to them.

    Drawn when opened: the browser's part that colours code is larger than all others together,
    and would be loaded before the charts.
    """
    panel = st.expander(title, key=key, on_change="rerun", icon=":material/code:")
    if panel.open:
        with panel:
            if lead:
                st.markdown(lead)
            for script in code:
                st.code(script, language="python")
