"""The library of a browser session, and the autosave of its runs."""

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.live.live_run import LiveRun
from attnlab.runs.library import Entry, Library, LibraryError, Query, library_folder
from attnlab.runs.past_runs import PastRun, with_run, without_run
from attnlab.runs.result import Result
from attnlab.training.presets import FIRST_PRESET, PRESETS
from attnlab.ui.core.server import hosted, work_queue
from attnlab.ui.core.session import session

# For a session of a shared server: a few runs of the largest allowed models, or hundreds of small
# ones.
_HOSTED_BYTES = 16_000_000
# A page waits this long for another program that writes.
_PATIENCE = 3.0
_MOST_MOVED = 1_000


class SessionLibrary(NamedTuple):
    """A library and its folder, or None for one in memory that ends with the session.

    `problem` says why it is not in the folder where it should be.
    """

    library: Library
    folder: Path | None
    problem: str = ""


def session_library() -> SessionLibrary:
    """Return the user's library, or one in memory: if shared, off, or impossible to open."""
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
    """Open the user's library again."""
    _opened.clear()


@st.cache_resource(show_spinner=False)
def _opened(folder: Path) -> Library | str:
    """Return the library in the folder, shared by all sessions, or why there is none."""
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
    """Move runs kept in memory, while the user's library could not be opened, to that library."""
    own = session().library
    if own is None:
        return
    runs = [entry.number for entry in own.entries(Query(), most=_MOST_MOVED)]
    # If it fails, they stay where they are.
    with suppress(LibraryError):
        library.take_in(own.export(runs))
        session().library = None


class Kept(NamedTuple):
    """A row of a library as it was written: any other change gives it another date."""

    library: Library
    number: int
    date: datetime


def kept_as(library: Library, entry: Entry) -> Kept:
    """Return where to save the results of a run that continues an entry."""
    return Kept(library, entry.number, entry.date)


class RunKeeper:
    """Saves the results of a run in one row of a library, unless another program changed that row.

    With `only_ended`, runs that are neither done nor failed are left out. `problem` is why the last
    one was not kept, or "". `is_watched` says whether the session has a viewer, and `kept` what it
    currently keeps; either may be set at any time.
    """

    def __init__(self, library: Library, *, only_ended: bool):
        self.library = library
        self.problem = ""
        self._only_ended = only_ended

    def __call__(self, result: Result, before: Kept | None) -> Kept | None:
        """Save a result; return where the next result of the same run goes."""
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
        """Return the row to overwrite, or None for a new one."""
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
    """Return the autosave of this session's runs."""
    current, library = session(), session_library().library
    if current.keeper is None:
        current.keeper = RunKeeper(library, only_ended=hosted())
    # The library may have been opened since.
    current.keeper.library = library
    return current.keeper


def shelve_run(run: LiveRun) -> None:
    """Make the current run a past run, before another one replaces it.

    A run without a step is dropped: there is nothing to compare.
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
    """Shelve the current run and resume a past one, with its former autosave."""
    shelve_run(run)
    current = session()
    autosave = current.autosaves.get(chosen.number)
    current.past_runs = without_run(current.past_runs, chosen.number)
    run.resume(chosen.stored, autosave=autosave, seconds=chosen.snapshot.seconds)
