"""Parts of a page that are redrawn without the rest.

Streamlit drops messages that are still queued when the next rerun starts. A rerun of the whole page
sends them again, but a rerun of a fragment would leave gaps. So scripts end only when the event
loop has sent their messages. This is streamlit/streamlit#9188; docs/dev/streamlit.md says how to
test whether this is still needed.
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

# Whether `delivered` is active in this script thread.
_DELIVERING = ContextVar("delivering", default=False)
# Streamlit sends the queued messages every 10 ms. Until then, a rerun of a fragment drops its own
# old messages but not those after them, and the browser reports a bad index.
_FLUSHED_SECONDS = 0.03
# No event loop is busy for this long: after it, assume that the server has ended.
_PATIENCE_SECONDS = 10.0


class _Server:
    """The server's event loop, or None in tests that run without a server."""

    loop: asyncio.AbstractEventLoop | None = None


@st.cache_resource(show_spinner=False)
def _server() -> _Server:
    return _Server()


def keep_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Store the event loop that sends the messages of scripts to browsers."""
    _server().loop = loop


@contextmanager
def delivered() -> Iterator[None]:
    """Wait, at the end of the block, until all messages were sent. Inner blocks do not wait."""
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
    sent = threading.Event()
    # Calls run in order, so this one runs after all messages were queued.
    loop.call_soon_threadsafe(loop.call_later, _FLUSHED_SECONDS, sent.set)
    sent.wait(_PATIENCE_SECONDS)


def fragment(
    draw: Callable[..., None], *, key: str | None = None, seconds: float | None = None
) -> Callable[..., None]:
    """Make `draw` a fragment: using one of its controls reruns only this part of the page.

    Also works as a decorator. With `seconds` it is redrawn at this interval.
    """

    @functools.wraps(draw)
    def draw_delivered(*arguments: Any) -> None:
        is_alone = not _DELIVERING.get()
        with delivered():
            before = len(session().missing)
            draw(*arguments)
            if is_alone and len(session().missing) > before:
                # The timer that waits for missing results is outside this fragment.
                st.rerun()

    return st.fragment(draw_delivered, key=key, run_every=seconds)


def draw_while(
    waiting_for: Callable[[], Hashable],
    draw: Callable[[], object],
    *,
    key: str,
    seconds: float = 0.5,
    waited: Hashable | None = None,
) -> None:
    """Draw a part of the page, and redraw it as long as `waiting_for` returns a true value.

    When the value changes, the whole page is rerun, and the timer starts or stops.

    Args:
        waiting_for: Returns a value that is true while more is to come, such as a count. A tuple
            is true if any part of it is.
        draw: Draws the part.
        key: The key of the fragment.
        seconds: Interval between redraws. Up to 0.5, Streamlit does not fade the old content.
        waited: The value that the rest of the page was drawn with; the current one by default.
    """
    before = waiting_for() if waited is None else waited
    goes_on = any(before) if isinstance(before, tuple) else before

    def draw_or_rerun() -> None:
        if waiting_for() != before:
            st.rerun()
        draw()

    fragment(draw_or_rerun, key=key, seconds=seconds if goes_on else None)()


def panel(title: str, *, key: str, icon: str) -> Callable[[Callable[..., None]], Callable]:
    """Make a function draw in a panel with this title, and only while the panel is open.

    Works as a decorator. `icon` is the name of a Material icon.
    """

    def in_panel(draw: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(draw)
        def draw_if_open(*arguments: Any) -> None:
            place = st.expander(title, key=key, on_change="rerun", icon=f":material/{icon}:")
            if place.open:
                with place:
                    draw(*arguments)

        return draw_if_open

    return in_panel


def draw_in_code(*code: str, lead: str = "", title: str = "In code", key: str = "in_code") -> None:
    """Draw scripts in a panel, below the text `lead`.

    The browser's code highlighter is larger than the rest of the page. In a closed panel it does
    not load before the charts.
    """

    @panel(title, key=key, icon="code")
    def draw() -> None:
        if lead:
            st.markdown(lead)
        for script in code:
            st.code(script, language="python")

    draw()
