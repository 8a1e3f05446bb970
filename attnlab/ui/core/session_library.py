"""The library of a browser session, and the autosave of its runs."""

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.live.live_run import LiveRun
from attnlab.runs.library import Library, LibraryError, Query, library_folder
from attnlab.runs.past_runs import PastRun, with_run, without_run
from attnlab.runs.run_summary import RunSummary
from attnlab.training.presets import FIRST_PRESET, PRESETS
from attnlab.ui.core.server import hosted, work_queue
from attnlab.ui.core.session import session

# Memory for the library of a session on a shared server: enough for a few runs of the largest
# allowed models, or for hundreds of small runs.
_HOSTED_BYTES = 16_000_000
# Seconds that a page waits while another program writes to the library.
_PATIENCE = 3.0
_MOST_MOVED = 1_000


class SessionLibrary(NamedTuple):
    """A library and its folder; without a folder it is in memory and ends with the session.

    `problem` says why the library is not in the folder where it should be, or is "".
    """

    library: Library
    folder: Path | None
    problem: str = ""


def session_library() -> SessionLibrary:
    """Return the user's library, or one in memory on a shared server or if it cannot be used."""
    try:
        folder = None if hosted() else library_folder(os.environ)
    except OptionError as error:
        return SessionLibrary(_own_library(), None, str(error))
    if folder is None:
        return SessionLibrary(_own_library(), None)
    opened = _opened(folder)
    if isinstance(opened, str):
        return SessionLibrary(_own_library(), None, opened)
    _move_own_runs(opened)
    return SessionLibrary(opened, folder)


def try_again() -> None:
    """Try again to open the user's library, at the next rerun."""
    _opened.clear()


@st.cache_resource(show_spinner=False)
def _opened(folder: Path) -> Library | str:
    """Return the library in the folder, shared by all sessions, or an error message."""
    try:
        return Library(folder, patience=_PATIENCE)
    except LibraryError as error:
        return str(error)


def _own_library() -> Library:
    current = session()
    if current.library is None:
        current.library = Library(None, most_bytes=_HOSTED_BYTES if hosted() else None)
    return current.library


def _move_own_runs(library: Library) -> None:
    """Move this session's runs from memory into the user's library, now that it is open."""
    own = session().library
    if own is None:
        return
    runs = [entry.number for entry in own.entries(Query(), most=_MOST_MOVED)]
    # If this fails, the runs stay in memory.
    with suppress(LibraryError):
        library.take_in(own.export(runs))
        session().library = None


class Kept(NamedTuple):
    """A saved run: library, row number, and the row's date, which changes whenever it is saved."""

    library: Library
    number: int
    date: datetime


def kept_as(library: Library, entry: RunSummary) -> Kept:
    """Return the library's row of a run, so that a resumed run overwrites this row."""
    return Kept(library, entry.number, entry.date)


class RunKeeper:
    """Saves the results of a run in one row of a library, unless another program changed that row.

    With `only_ended`, unfinished runs are not saved. `problem` is why the last result could not be
    saved, or "".
    """

    def __init__(self, library: Library, *, only_ended: bool):
        self.library = library
        self.problem = ""
        self._only_ended = only_ended

    def __call__(self, result: RunSummary, before: Kept | None) -> Kept | None:
        """Save a result over the row `before`, if given; return the row for the next result."""
        if self._only_ended and result.state == "interrupted":
            return before
        library = self.library
        try:
            number = library.keep(result, number=self._row(library, before))
            entry = library.entry(number)
        except (LibraryError, ValueError) as error:
            self.problem = str(error)
            return before
        self.problem = ""
        return before if entry is None else kept_as(library, entry)

    @staticmethod
    def _row(library: Library, before: Kept | None) -> int | None:
        """Return the number of the row to overwrite, or None for a new row."""
        if before is None or before.library is not library:
            return None
        entry = library.entry(before.number)
        # Another tab or program may have continued the run in a different way.
        is_own = entry is not None and entry.date == before.date
        return before.number if is_own else None


def session_run() -> LiveRun:
    """Return the current run of this session, created on first use."""
    keeper, current = session_keeper(), session()
    if current.run is None:
        first = PRESETS[FIRST_PRESET].experiment
        current.run = LiveRun(first, queue=work_queue(), keep=keeper)
    return current.run


def session_keeper() -> RunKeeper:
    """Return the object that saves this session's runs."""
    current, library = session(), session_library().library
    if current.keeper is None:
        current.keeper = RunKeeper(library, only_ended=hosted())
    # The user's library may have been opened since the last call.
    current.keeper.library = library
    return current.keeper


def shelve_run(run: LiveRun) -> None:
    """Add the current run to the past runs, before another run replaces it.

    A run that has made no step is dropped.
    """
    run.pause()
    snapshot, stored, current = run.snapshot(), run.stored(), session()
    if stored is None or snapshot.step == 0 or snapshot.latest is None:
        return
    current.runs_shelved += 1
    number = current.runs_shelved
    current.past_runs = with_run(current.past_runs, snapshot, stored, number=number)
    current.autosaves[number] = run.autosave
    there = {past.number for past in current.past_runs}
    current.autosaves = {past: current.autosaves[past] for past in there & set(current.autosaves)}


def return_to(run: LiveRun, chosen: PastRun) -> None:
    """Shelve the current run and resume a past run, which is saved in the same row as before."""
    shelve_run(run)
    current = session()
    autosave = current.autosaves.get(chosen.number)
    current.past_runs = without_run(current.past_runs, chosen.number)
    run.resume(chosen.stored, autosave=autosave, seconds=chosen.snapshot.seconds)
