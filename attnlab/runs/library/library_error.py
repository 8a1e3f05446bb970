"""What is wrong with a library as a whole, and what can be done about it."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from attnlab.configuration.options import AttnlabError

_ANOTHER = "name another folder in `ATTNLAB_LIBRARY`"
_UNKNOWN = ("cannot be used", f"See that its disk can be read and written, or {_ANOTHER}")
# By SQLite's primary result codes: what the library is, and the remedy.
_PROBLEMS = {
    sqlite3.SQLITE_BUSY: (
        "is being written by another program",
        "Try again when that is done, or close it",
    ),
    sqlite3.SQLITE_READONLY: (
        "may be read but not written",
        f"Make its folder writable, or {_ANOTHER}",
    ),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", f"Make its folder writable, or {_ANOTHER}"),
    sqlite3.SQLITE_FULL: ("has no space left", "Free some, or delete runs and empty the bin"),
    sqlite3.SQLITE_IOERR: (
        "cannot be read or written",
        f"See that its disk is whole and has space, or {_ANOTHER}",
    ),
    sqlite3.SQLITE_NOTADB: (
        "is not one of attnlab",
        f"It was left as it is. Move it away, or {_ANOTHER}",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "is damaged",
        f"It was left as it is. Bring back a copy, move it away, or {_ANOTHER}",
    ),
    sqlite3.SQLITE_ERROR: (
        "does not have the parts of one of attnlab",
        f"It was left as it is. Move it away, or {_ANOTHER}",
    ),
}
_NUMBERS = {sqlite3.SQLITE_FULL: errno.ENOSPC, sqlite3.SQLITE_READONLY: errno.EROFS}


class LibraryError(AttnlabError, OSError):
    """A library that cannot be opened, read or written. Says what is wrong, and the remedy."""

    def __init__(self, text: str, number: int | None = None):
        super().__init__(text)
        self.errno = number

    def __reduce__(self):
        # `errno` is not among the attributes that pickling saves.
        return type(self), (str(self), self.errno)


def library_error(where: str, code: int) -> LibraryError:
    """What a result code of SQLite means for the library that is there."""
    problem, remedy = _PROBLEMS.get(code, _UNKNOWN)
    return LibraryError(f"The library {where} {problem}. {remedy}.", _NUMBERS.get(code))


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Let what goes wrong with the database inside be a `LibraryError`."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.InterfaceError):
        # Mistakes of whoever calls it, such as using what was closed.
        raise
    except UnicodeDecodeError as error:
        # A name in the schema, or a message about it.
        raise library_error(where, sqlite3.SQLITE_CORRUPT) from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        # The lower byte; the rest of a code says more than you can act on, but for a full disk that
        # has no room for the file which readers share.
        code = sqlite3.SQLITE_FULL if code == sqlite3.SQLITE_IOERR_SHMSIZE else code & 0xFF
        raise library_error(where, code) from error
