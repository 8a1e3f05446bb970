"""Which library a browser session has, and what keeps its runs in it."""

import os
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.runs.library import Entry, Library, LibraryError, Query, library_folder
from attnlab.runs.result import Result
from attnlab.ui.core.server import hosted

# Of a stranger's session: a few runs of the largest models that a server allows, and hundreds of
# small ones.
_HOSTED_BYTES = 16_000_000
# A page waits no longer for another program that writes.
_PATIENCE = 3.0
_OWN = "own_library"
_MOST_MOVED = 1_000


class SessionLibrary(NamedTuple):
    """A library, and the folder that it is in; None for one that ends with the session.

    `problem` says why it is not in the folder where it should be.
    """

    library: Library
    folder: Path | None
    problem: str = ""


def session_library() -> SessionLibrary:
    """The user's library; one in memory on a shared server, where it is off or cannot be opened."""
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
    """Open the user's library anew."""
    _opened.clear()


@st.cache_resource(show_spinner=False)
def _opened(folder: Path) -> Library | str:
    """That of the folder, for all sessions; or why there is none."""
    try:
        return Library(folder, patience=_PATIENCE)
    except LibraryError as error:
        return str(error)


def _own_library() -> Library:
    if _OWN not in st.session_state:
        st.session_state[_OWN] = Library(None, most_bytes=_HOSTED_BYTES if hosted() else None)
    return st.session_state[_OWN]


def _move_own_runs(library: Library) -> None:
    """What was kept in memory while the user's library could not be opened goes there."""
    own: Library | None = st.session_state.pop(_OWN, None)
    if own is None:
        return
    runs = [entry.number for entry in own.entries(Query(), most=_MOST_MOVED)]
    try:
        library.take_in(own.export(runs))
    except LibraryError:
        st.session_state[_OWN] = own


class Kept(NamedTuple):
    """A row of a library as it was left: whoever changed it since has another date."""

    library: Library
    number: int
    date: datetime


def kept_as(library: Library, entry: Entry) -> Kept:
    """What goes on with the run of an entry."""
    return Kept(library, entry.number, entry.date)


class RunKeeper:
    """Keeps results in a library: those of one run in one row, as long as nobody else writes it.

    With `only_ended`, those that are not done nor failed are left out. `problem` is why the last
    one was not kept, or empty. `is_watched` says whether somebody looks at the session, and `kept`
    what it keeps at present; either may be set at any time.
    """

    def __init__(self, library: Library, *, only_ended: bool):
        self.library = library
        self.problem = ""
        self._only_ended = only_ended

    def __call__(self, result: Result, before: Kept | None) -> Kept | None:
        """Keep it; what tells the next result of the same run where."""
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
        """The row to write again, or None for a new one."""
        if before is None or before.library is not library:
            return None
        entry = library.entry(before.number)
        # Another tab or program may have gone on with it in another way.
        is_own = entry is not None and entry.date == before.date
        return before.number if is_own else None
