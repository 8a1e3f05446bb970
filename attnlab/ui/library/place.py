"""The library's location, problems, export and import, and the offer to continue a run."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnlab.configuration.options import quoted
from attnlab.live.live_run import LiveRun
from attnlab.runs.differences import label_of_change
from attnlab.runs.library import ArchiveError, Library, LibraryError, Query, TakenIn
from attnlab.runs.run_summary import RunSummary, summary_of
from attnlab.runs.storage import RunFileError, from_bytes, is_run_file
from attnlab.ui.controls.uploads import Message, draw_upload, take_upload
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.outside import as_message, as_text, draw_error, draw_toast
from attnlab.ui.core.server import hosted
from attnlab.ui.core.session import open_sessions, session
from attnlab.ui.core.session_library import (
    SessionLibrary,
    session_keeper,
    session_library,
    try_again,
)
from attnlab.ui.library.actions import attempt, open_run
from attnlab.ui.library.table import ago, clear_filters

# Number of newest unfinished runs that are searched for a run to continue.
_MOST_LOOKED_AT = 5


def draw_continue_offer(run: LiveRun) -> None:
    """Offer to continue the user's newest unfinished run, until this session starts a run.

    A finished run of the library may be open meanwhile.
    """
    place = session_library()
    if place.folder is None or run.snapshot().state not in ("idle", "done"):
        return
    if session().runs_shelved:
        return
    try:
        entry = _newest(place.library)
    except LibraryError:
        # The page Library shows the error.
        return
    if entry is None:
        return
    what = entry.name or label_of_change(None, entry.experiment)
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", width="content", key="continue"
    ):
        going_on = _go_on, run, place.library, entry.number
        draw_button("Continue", "continue_run", "resume", *going_on, type="tertiary")
        st.caption(
            f"{as_text(what)}, step {entry.steps:,} of {entry.experiment.training.steps:,} "
            f"({ago(place.library.age_of(entry))})",
            width="content",
        )
        discarding = _dismissed().add, (entry.number, entry.date)
        draw_button("Discard", "continue_dismiss", "close", *discarding, type="tertiary")


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


def _newest(library: Library) -> RunSummary | None:
    saved = (run.autosave.kept for run in open_sessions().runs())
    left_out = _dismissed() | {(kept.number, kept.date) for kept in saved if kept is not None}
    for entry in library.entries(Query(state="interrupted"), most=_MOST_LOOKED_AT):
        if entry.has_model and (entry.number, entry.date) not in left_out:
            return entry
    return None


def _go_on(run: LiveRun, library: Library, number: int) -> None:
    if open_run(run, library, number):
        run.start()


@st.cache_resource(show_spinner=False)
def _dismissed() -> set[tuple[int, datetime]]:
    """Return the offers that were discarded in any session, until the server ends."""
    return set()


_MOST_PROBLEMS = 5


def draw_place(place: SessionLibrary) -> None:
    """Draw the library's number of runs, its size, its location, and how long runs are kept."""
    library = place.library
    count = library.count()
    parts = ["1 run" if count == 1 else f"{count:,} runs"]
    parts.append(f"{library.count(Query(deleted=True)):,} in the bin")
    line = " · ".join([*parts, size_in_words(library.size())])
    if place.folder is not None:
        where = f"in `{place.folder}`. Every run that is paused or done is kept, equal runs once."
    elif hosted():
        where = (
            "in memory. This server keeps finished runs until you close or reload the page. "
            "Use Export to download them and Import to restore them."
        )
    else:
        where = (
            "in memory. Runs are kept only until the session ends; they are not saved on this "
            "machine."
        )
    st.caption(as_message(f"{line}, {where}"))
    if place.problem:
        with st.container(horizontal=True, vertical_alignment="center", key="library_problem"):
            st.caption(f":material/report: {as_message(place.problem)}", width="content")
            draw_button("Try again", "library_try_again", None, try_again)
    elif problem := session_keeper().problem:
        st.caption(f":material/report: A run was not saved. {as_message(problem)}")


def draw_nothing(place: SessionLibrary, *, in_bin: bool) -> None:
    """Draw what to do next, in place of an empty table."""
    if place.library.count(Query(deleted=in_bin)):
        st.info("No run matches.", icon=":material/filter_alt:")
        draw_button("Show all", "library_clear", None, clear_filters)
    elif in_bin:
        st.info("The bin is empty.", icon=":material/delete:")
    else:
        words = "done" if hosted() else "paused or done"
        st.info(
            f"There are no runs yet. Press Start on the Train page: a run that is {words} is "
            "added here automatically. You can import runs from another library below.",
            icon=":material/inventory_2:",
        )


def draw_damaged(library: Library) -> None:
    """Draw the problems of runs that cannot be read, and a button that deletes these runs."""
    problems = library.problems()
    if not problems:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="library_damaged"):
        texts = " ".join(as_text(problem.text) for problem in problems[:_MOST_PROBLEMS])
        more = len(problems) - _MOST_PROBLEMS
        st.caption(
            f":material/report: {texts}"
            + (f" {more:,} more runs have the same problem." * (more > 0))
        )
        numbers = [problem.number for problem in problems]
        key = "library_delete_damaged"
        draw_button("Delete damaged runs", key, None, attempt, library.delete, numbers)


@contextmanager
def library_errors_shown() -> Iterator[None]:
    """Context manager that shows an error of the library and skips the rest of its block."""
    try:
        yield
    except LibraryError as error:
        draw_error(str(error))


def size_in_words(size: int) -> str:
    """Return a number of bytes in MB or GB, as text."""
    return f"{size / 1e6:,.1f} MB" if size < 1e9 else f"{size / 1e9:,.1f} GB"


_UPLOAD = "library_upload"
_MOST_REFUSALS = 5
# An export with models is built in memory, so its size is limited.
_MOST_BYTES_WITH_MODELS = 500_000_000
_AT_ONCE = 500


def follow_upload(library: Library) -> None:
    """Import a file that was uploaded. Call it before the table is drawn."""
    take_upload(_UPLOAD, functools.partial(_take_in, library))


@panel("Export and import", key="library_travel", icon="sync_alt")
def draw_travel(library: Library, query: Query, chosen: tuple[RunSummary, ...]) -> None:
    """Draw buttons that export the selected runs or all matching runs, and an import field."""
    _draw_export(library, query, tuple(entry.number for entry in chosen))
    draw_upload(
        "Import runs",
        key=_UPLOAD,
        help="A file that a library exported, or a saved run. Runs that are already in this "
        "library are skipped. A saved run is added each time.",
    )


def _draw_export(library: Library, query: Query, numbers: tuple[int, ...]) -> None:
    count, fits = library.count(query), library.size() <= _MOST_BYTES_WITH_MODELS
    models = st.toggle(
        "with their models",
        fits,
        key="library_with_models",
        disabled=not fits,
        help="Without them the file has only results and curves, and is far smaller.",
    )
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            f"Export {len(numbers):,} selected" if numbers else "Export selected",
            data=lambda: library.export(numbers, models=models),
            file_name="attnlab.runs",
            mime="application/octet-stream",
            key="library_export_ticked",
            on_click="ignore",
            disabled=not numbers,
            icon=":material/download:",
        )
        st.download_button(
            f"Export all matching ({count:,})",
            data=lambda: library.export(_numbers(library, query), models=models),
            file_name="attnlab.runs",
            mime="application/octet-stream",
            key="library_export_all",
            on_click="ignore",
            disabled=not count,
            icon=":material/download:",
        )
    st.caption(
        "One file, with names, tags and notes. This page imports files of up to "
        f"{st.get_option('server.maxUploadSize')} MB; `python -m attnlab runs import` has no "
        "limit."
    )


def _numbers(library: Library, query: Query) -> Iterator[int]:
    for first in range(0, library.count(query), _AT_ONCE):
        yield from (e.number for e in library.entries(query, first=first, most=_AT_ONCE))


def _take_in(library: Library, file: UploadedFile | None) -> Message:
    if file is None:
        return None
    try:
        taken = _taken_in(library, file.getvalue())
    except (ArchiveError, RunFileError, LibraryError) as error:
        return functools.partial(draw_error, f"{quoted(file.name)}: {error} Nothing was added.")
    # The message names its file: it stays if the browser rejects the next file as too large.
    return functools.partial(_draw_taken, quoted(file.name), taken)


def _taken_in(library: Library, data: bytes) -> TakenIn:
    """Import a file that a library exported, or the file of a single run."""
    try:
        return library.take_in(data)
    except ArchiveError:
        if not is_run_file(data):
            raise
    run = from_bytes(data)
    tests = dict(run.history.tests)
    step = int(run.state.step)
    state = "done" if step == run.experiment.training.steps else "interrupted"
    result = summary_of(run, state, tests.get(step), 0.0)
    return TakenIn((library.keep(result),), 0, ())


def _draw_taken(name: str, taken: TakenIn) -> None:
    added, known = len(taken.added), taken.known
    parts = [f"{added:,} run{'s' * (added != 1)} added"]
    if known:
        parts.append(f"{known:,} already here and skipped")
    parts += taken.left_out
    refusals = "".join(f"\n- {as_message(line)}" for line in taken.refused[:_MOST_REFUSALS])
    more = len(taken.refused) - _MOST_REFUSALS
    st.info(
        f"{as_message(name)}: {', '.join(parts)}.{refusals}"
        + (f"\n- and {more:,} more" if more > 0 else ""),
        icon=":material/upload:",
    )
