"""What keeps the runs of a session in its library, from their training threads."""

from datetime import datetime
from typing import NamedTuple

from attnlab.runs.library import Entry, Library, LibraryError
from attnlab.runs.result import Result


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
