"""Long computations of a browser session, which end when its tab is closed."""

from collections.abc import Callable, Iterator
from typing import Any

import streamlit as st

from attnlab.background import Background
from attnlab.ui.fragments import fragment

_POLL_SECONDS = 0.25


class SessionWork:
    """The background work of one session by name: at most one of each name at a time."""

    def __init__(self):
        self._works: dict[str, Background] = {}

    def start(self, name: str, make: Callable[[], Iterator[Any]], *, rest: float = 0.0) -> None:
        """Put new work in the place of the old of that name, which ends by itself."""
        self.stop(name)
        self._works[name] = Background(make, rest=rest)

    def stop(self, name: str) -> None:
        """End the work of that name, if there is any, and keep what it has made."""
        if name in self._works:
            self._works[name].stop()

    def forget(self, name: str) -> None:
        """End the work of that name, and drop what it has made."""
        self.stop(name)
        self._works.pop(name, None)

    def stop_all(self) -> None:
        """End all work."""
        for work in self._works.values():
            work.stop()

    def of(self, name: str) -> Background | None:
        """The work of that name, ended or not."""
        return self._works.get(name)


def session_work() -> SessionWork:
    """The session's work, made when first asked for."""
    if "session_work" not in st.session_state:
        st.session_state["session_work"] = SessionWork()
    work = st.session_state["session_work"]
    _watched(work)
    return work


# A closed tab and a dropped connection look alike; what was made so far stays in either case.
@st.cache_resource(scope="session", on_release=SessionWork.stop_all, show_spinner=False)
def _watched(_work: SessionWork) -> SessionWork:
    return _work


def draw_while_working(name: str, draw: Callable[[Background | None], None]) -> None:
    """Draw the work of that name, or that there is none; four times a second until it has ended."""
    work = session_work().of(name)
    # Below half a second Streamlit does not fade what it draws again.
    every = _POLL_SECONDS if _is_running(work) else None
    fragment(_draw, key=f"{name}_live", seconds=every)(work, _is_running(work), draw)


def _is_running(work: Background | None) -> bool:
    return work is not None and work.state().running


def _draw(
    work: Background | None, was_running: bool, draw: Callable[[Background | None], None]
) -> None:
    if was_running and not _is_running(work):
        # The buttons outside must hear of the end, and the timer stop.
        st.rerun()
    draw(work)
