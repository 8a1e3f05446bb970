"""A run of a comparison put in the place of the session's run."""

import streamlit as st

from attnlab.runs.library import Entry, LibraryError
from attnlab.runs.result import Result
from attnlab.ui.core.outside import draw_toast
from attnlab.ui.core.session_run import session_run
from attnlab.ui.library.opening import open_run
from attnlab.ui.library.session_library import session_library

_OPENED = "compare_opened"


def open_result(result: Result) -> None:
    """Put the run in the place of the present one, which is shelved. For callbacks."""
    entry = _entry_of(result)
    opened = entry is not None
    if opened:
        opened = open_run(session_run(), session_library().library, entry.number)
    else:
        draw_toast("This run has no model to look into. Your present run is kept.")
    st.session_state[_OPENED] = opened


def _entry_of(result: Result) -> Entry | None:
    try:
        return session_library().library.find(result.experiment)
    except LibraryError:
        return None


def was_opened() -> bool:
    """Whether a run was opened just now, so that the page goes to it."""
    return bool(st.session_state.pop(_OPENED, False))
