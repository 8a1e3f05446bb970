"""The run that was going on when the app was last left, offered to go on with."""

from datetime import datetime

import streamlit as st

from attnlab.live.live_run import LiveRun
from attnlab.runs.differences import label_of_change
from attnlab.runs.library import Entry, Library, LibraryError, Query
from attnlab.ui.core.outside import as_message, as_text, draw_toast
from attnlab.ui.core.session_run import session_keeper, watched_runs
from attnlab.ui.library.entry_texts import ago
from attnlab.ui.library.opening import open_run
from attnlab.ui.library.run_keeper import Kept
from attnlab.ui.library.session_library import session_library

# The newest of them that can be continued is looked for among so many.
_MOST_LOOKED_AT = 5
_TOLD = "library_problem_told"


def draw_continue_offer(run: LiveRun) -> None:
    """The newest to continue, on a machine of one's own, before the session has a run itself."""
    place = session_library()
    if place.folder is None or run.snapshot().state != "idle":
        return
    try:
        entry = _newest(place.library)
    except LibraryError:
        # The page Library says what is wrong with it.
        return
    if entry is None:
        return
    result = entry.result
    what = entry.name or label_of_change(None, result.experiment)
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", width="content", key="continue"
    ):
        st.button(
            "Continue",
            key="continue_run",
            icon=":material/resume:",
            type="tertiary",
            on_click=_go_on,
            args=(run, place.library, entry.number),
        )
        st.caption(
            f"{as_text(what)}, step {result.steps:,} of {result.experiment.training.steps:,} "
            f"({ago(place.library.age_of(entry))})",
            width="content",
        )
        st.button(
            "Not this one",
            key="continue_dismiss",
            icon=":material/close:",
            type="tertiary",
            on_click=lambda: _dismissed().add((entry.number, entry.date)),
        )


def draw_library_problem() -> None:
    """That runs are not kept where they should be, and why."""
    if problem := session_library().problem:
        st.caption(f":material/report: {as_message(problem)} Runs are kept in memory alone.")


def tell_what_was_not_kept() -> None:
    """Once for every reason: why a run is not in the library."""
    problem = session_keeper().problem
    if problem and st.session_state.get(_TOLD) != problem:
        draw_toast(f"This run goes on, but it is not kept. {problem}")
    st.session_state[_TOLD] = problem


def _newest(library: Library) -> Entry | None:
    at_work = {
        kept.number
        for kept in (each.keeping.kept for each in watched_runs().all())
        if isinstance(kept, Kept) and kept.library is library
    }
    for entry in library.entries(Query(state="interrupted"), most=_MOST_LOOKED_AT):
        is_wanted = (entry.number, entry.date) not in _dismissed()
        if is_wanted and entry.has_model and entry.number not in at_work:
            return entry
    return None


def _go_on(run: LiveRun, library: Library, number: int) -> None:
    if open_run(run, library, number):
        run.start()


@st.cache_resource(show_spinner=False)
def _dismissed() -> set[tuple[int, datetime]]:
    """Of all tabs, until the server ends."""
    return set()
