"""Saved runs as the current run of a session: opened, continued, or why one was not saved."""

from datetime import datetime

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.live.live_run import LiveRun
from attnlab.live.progress import Autosave
from attnlab.runs.differences import label_of_change
from attnlab.runs.library import Library, LibraryError, Query
from attnlab.runs.run_summary import RunSummary
from attnlab.runs.storage import RunFileError
from attnlab.training.experiment import Experiment
from attnlab.training.limits import check_limits
from attnlab.ui.controls.form_state import fill_form
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.outside import as_message, as_text, draw_toast
from attnlab.ui.core.server import limits
from attnlab.ui.core.session import open_sessions, session
from attnlab.ui.core.session_library import session_keeper, session_library, shelve_run

# Number of newest unfinished runs that are searched for a run to continue.
_MOST_LOOKED_AT = 5


def open_run(run: LiveRun, library: Library, number: int) -> bool:
    """Callback: make a run of the library the current run, or show why not.

    Return whether this worked. The previous run is shelved. If the run is already the current one,
    only the controls are set to its settings.
    """
    entry, kept = library.entry(number), run.autosave.kept
    if entry and kept and (kept.number, kept.date) == (number, entry.date):
        fill_form(run.experiment)
        return True
    try:
        stored = None if entry is None else library.run_of(number)
        if entry is None or stored is None:
            draw_toast("This run was deleted, or saved without its model.")
            return False
        check_limits(stored.experiment, limits())
    except (LibraryError, RunFileError, OptionError) as error:
        draw_toast(f"{error} Your current run is kept.")
        return False
    shelve_run(run)
    run.resume(stored, autosave=Autosave(session_keeper(), kept=entry), seconds=entry.seconds)
    fill_form(stored.experiment)
    return True


def open_finished_run(run: LiveRun, form: Experiment | OptionError) -> bool:
    """Open the library's finished run of the settings, if this session has no run yet.

    Return whether a run was opened.
    """
    if run.snapshot().state != "idle" or session().runs_shelved or isinstance(form, OptionError):
        return False
    library = session_library().library
    try:
        entries = library.entries(Query(like=form, state="done"))
    except LibraryError:
        # The page Library shows the error.
        return False
    for entry in entries:
        if entry.has_model and not entry.changes and entry.experiment.seed == form.seed:
            return open_run(run, library, entry.number)
    return False


def draw_continue_offer(run: LiveRun) -> None:
    """Offer to continue the user's newest unfinished run, until this session starts a run.

    A finished run of the library may be open meanwhile.
    """
    place = session_library()
    is_new = run.snapshot().state in ("idle", "done") and not session().runs_shelved
    entry = _unfinished_run(place.library) if is_new and place.folder is not None else None
    if entry is None:
        return
    what = entry.name or label_of_change(None, entry.experiment)

    def resume() -> None:
        if open_run(run, place.library, entry.number):
            run.start()

    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", width="content", key="continue"
    ):
        st.caption(
            f"Unfinished run: {as_text(what)}, step {entry.steps:,} of "
            f"{entry.experiment.training.steps:,} "
            f"({_ago(place.library.age_of(entry).total_seconds())})",
            width="content",
        )
        draw_button("Continue", "continue_run", "resume", resume, type="tertiary")
        discarding = _discarded().add, (entry.number, entry.date)
        draw_button("Discard", "continue_dismiss", "close", *discarding, type="tertiary")


def _unfinished_run(library: Library) -> RunSummary | None:
    """Return the newest unfinished run that no session has open or discarded."""
    saved = (run.autosave.kept for run in open_sessions().runs())
    left_out = _discarded() | {(kept.number, kept.date) for kept in saved if kept is not None}
    try:
        entries = library.entries(Query(state="interrupted"), most=_MOST_LOOKED_AT)
    except LibraryError:
        # The page Library shows the error.
        return None
    return next((e for e in entries if e.has_model and (e.number, e.date) not in left_out), None)


@st.cache_resource(show_spinner=False)
def _discarded() -> set[tuple[int, datetime]]:
    """Return the offers that were discarded in any session, until the server ends."""
    return set()


def _ago(seconds: float) -> str:
    """Return text such as "3 hours ago" for a time difference, in its largest unit."""
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            many = int(seconds // size)
            return f"{many:,} {unit}{'s' if many > 1 else ''} ago"
    return "just now"


def draw_library_problem() -> None:
    """Draw why the user's library cannot be used, if there is a problem."""
    if problem := session_library().problem:
        st.caption(f":material/report: {as_message(problem)} Runs are kept in memory only.")


def show_save_problem() -> None:
    """Show why the current run could not be saved in the library, once for each reason."""
    problem, kept = session_keeper().problem, session().kept
    if problem and kept.get("library_problem") != problem:
        draw_toast(f"This run continues, but it is not saved. {problem}")
    kept["library_problem"] = problem
