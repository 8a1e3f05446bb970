"""Parts of a page that are drawn again without the rest, and how their pictures arrive whole.

The script of a page runs in a thread of its own and leaves what it draws to the server's event
loop. If a request of the browser comes between the end of a script and the last of its messages,
Streamlit takes the next script for the only one and drops those messages. A request for the whole
page draws them anew; one for a fragment, by a timer or by one of its controls, would leave the
page torn. So scripts end when the event loop has taken their messages. The report upstream is
streamlit/streamlit#9188; docs/streamlit.md says how to find that this can go.
"""

import asyncio
import functools
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import streamlit as st

# Of the thread that a script runs in.
_DELIVERING = ContextVar("delivering", default=False)
# Longer than any event loop is busy; a script that waits for more has lost its server.
_PATIENCE_SECONDS = 10.0


class _Server:
    """What scripts know of the server that they run in; nothing in tests without one."""

    loop: asyncio.AbstractEventLoop | None = None


@st.cache_resource(show_spinner=False)
def _server() -> _Server:
    return _Server()


def keep_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Tell scripts of the event loop that sends their messages."""
    _server().loop = loop


@contextmanager
def delivered() -> Iterator[None]:
    """What is drawn within it is on its way when it ends. Within another one it does nothing."""
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
    """`draw` as a part of its own: its controls draw nothing else anew. Also as a decorator.

    With `seconds` it is drawn again every so many seconds.
    """

    @functools.wraps(draw)
    def draw_delivered(*arguments: Any) -> None:
        with delivered():
            draw(*arguments)

    return st.fragment(draw_delivered, key=key, run_every=seconds)


def draw_while(
    waiting_for: Callable[[], Hashable],
    draw: Callable[[], None],
    *,
    key: str,
    seconds: float = 0.5,
    waited: Hashable | None = None,
) -> None:
    """Draw a part of the page, again by itself while something is waited for.

    When what is waited for changes the page is drawn once more, so that its rest hears of it, and
    the timer stops or begins. `waited` is what the rest was drawn by, where that is not what is so
    now. Below half a second Streamlit does not fade what it draws again.
    """
    before = waiting_for() if waited is None else waited

    def draw_or_tell() -> None:
        if waiting_for() != before:
            st.rerun()
        draw()

    fragment(draw_or_tell, key=key, seconds=seconds if before else None)()
