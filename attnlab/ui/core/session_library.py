"""The library of a browser session, and the autosave of its runs."""

import os
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.runs.library import Entry, Library, LibraryError, Query, library_folder
from attnlab.runs.result import Result
from attnlab.ui.core.server import hosted

# For a session of a shared server: a few runs of the largest allowed models, or hundreds of small
# ones.
_HOSTED_BYTES = 16_000_000
# A page waits this long for another program that writes.
_PATIENCE = 3.0
_OWN = "own_library"
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
    if _OWN not in st.session_state:
        st.session_state[_OWN] = Library(None, most_bytes=_HOSTED_BYTES if hosted() else None)
    return st.session_state[_OWN]


def _move_own_runs(library: Library) -> None:
    """Move runs kept in memory, while the user's library could not be opened, to that library."""
    own: Library | None = st.session_state.pop(_OWN, None)
    if own is None:
        return
    runs = [entry.number for entry in own.entries(Query(), most=_MOST_MOVED)]
    try:
        library.take_in(own.export(runs))
    except LibraryError:
        st.session_state[_OWN] = own


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
