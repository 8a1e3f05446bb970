"""Long computations of a browser session, which pause when its tab is closed."""

from collections.abc import Callable, Iterator
from typing import Any

import streamlit as st

from attnlab.live.background import Background, BackgroundState
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.hosting import work_queue

# Before that the speed of the first items, which compile, says little of the others.
_SECONDS_TO_TELL = 3.0


class SessionWork:
    """The background work of one session by name: at most one of each name at a time.

    All stand in the server's one queue.
    """

    def __init__(self):
        self._works: dict[str, Background] = {}

    def start(self, name: str, make: Callable[[], Iterator[Any]], *, rest: float = 0.0) -> None:
        """Put new work in the place of the old of that name, which ends by itself."""
        self.pause(name)
        self._works[name] = Background(make, queue=work_queue(), rest=rest)
        self._works[name].start()

    def pause(self, name: str) -> None:
        """Pause the work of that name, if there is any, and keep what it has made."""
        if name in self._works:
            self._works[name].pause()

    def forget(self, name: str) -> None:
        """End the work of that name, and drop what it has made."""
        self.pause(name)
        self._works.pop(name, None)

    def pause_all(self) -> None:
        """Pause all work."""
        for work in self._works.values():
            work.pause()

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
@st.cache_resource(scope="session", on_release=SessionWork.pause_all, show_spinner=False)
def _watched(_work: SessionWork) -> SessionWork:
    return _work


def draw_work_buttons(
    name: str, label: str, *, start: str, stop: str, on_start: Callable[[], None]
) -> BackgroundState | None:
    """Start, Stop and, after a Stop, Go on; what there is to see of the work of that name.

    `start` and `stop` are the keys of the buttons, and `on_start` begins the work anew.
    """
    work = session_work().of(name)
    state = None if work is None else work.state()
    running = state is not None and state.running
    st.button(
        label,
        key=start,
        type="primary",
        icon=":material/play_arrow:",
        on_click=on_start,
        disabled=running,
    )
    st.button(
        "Stop",
        key=stop,
        icon=":material/stop:",
        on_click=session_work().pause,
        args=(name,),
        disabled=not running,
    )
    if state is not None and not running and not state.done:
        st.button("Go on", key=f"{name}_go_on", icon=":material/resume:", on_click=work.start)
    return state


def work_in_words(state: BackgroundState, share: float) -> str:
    """How far it is, its place in the queue or why it paused, and the time left at its speed."""
    if state.done:
        return "done: 100%" if share == 1 else f"ended: {share:.0%}"
    parts = [f"{'running' if state.running else 'stopped'}: {share:.0%}"]
    if state.message:
        parts.append(state.message)
    elif state.running and share > 0 and state.seconds > _SECONDS_TO_TELL:
        left = state.seconds * (1 - share) / share
        parts.append(f"about {float(f'{left:.1g}'):,.0f} s left")
    return " · ".join(parts)


def draw_while_working(name: str, draw: Callable[[Background | None], None]) -> None:
    """Draw the work of that name, or that there is none; four times a second until it has ended."""
    work = session_work().of(name)
    draw_while(
        lambda: work is not None and work.state().running,
        lambda: draw(work),
        key=f"{name}_live",
        seconds=0.25,
    )
