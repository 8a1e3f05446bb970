"""The index of a library, a SQLite database, and the errors of a library."""

import contextlib
import errno
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attnlab.configuration.options import AttnlabError, present
from attnlab.runs.library.table import TABLES, VERSION

FREEING = "`attnlab runs empty-bin` and `attnlab runs delete --for-good` work on a full disk"
_ANOTHER = "name another folder in `ATTNLAB_LIBRARY`"
_UNKNOWN = ("cannot be used", f"Check that its disk can be read and written, or {_ANOTHER}")
# By SQLite's primary result codes: the problem and the remedy.
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
    sqlite3.SQLITE_FULL: ("has no space left", f"Free some. {FREEING}"),
    sqlite3.SQLITE_IOERR: (
        "cannot be read or written",
        f"Check that its disk works and has space, or {_ANOTHER}",
    ),
    sqlite3.SQLITE_NOTADB: (
        "is not an attnlab library",
        f"It was left unchanged. Move it away, or {_ANOTHER}",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "is damaged",
        f"It was left unchanged. Run `attnlab runs rebuild`, restore a backup, or {_ANOTHER}",
    ),
    sqlite3.SQLITE_ERROR: (
        "lacks parts of an attnlab library",
        f"It was left unchanged. Move it away, or {_ANOTHER}",
    ),
}
# SQLite's own table, which counts the numbers of runs.
_SEQUENCE = "CREATE TABLE sqlite_sequence(name,seq)"
_NUMBERS = {sqlite3.SQLITE_FULL: errno.ENOSPC, sqlite3.SQLITE_READONLY: errno.EROFS}


class LibraryError(AttnlabError, OSError):
    """A library that cannot be opened, read or written. States the problem and the remedy."""

    def __init__(self, text: str, number: int | None = None):
        super().__init__(text)
        self.errno = number

    def __reduce__(self):
        # `errno` is not among the attributes that pickling saves.
        return type(self), (str(self), self.errno)


def library_error(where: str, code: int) -> LibraryError:
    """Return the error for a result code of SQLite."""
    problem, remedy = _PROBLEMS.get(code, _UNKNOWN)
    return LibraryError(f"The library {where} {problem}. {remedy}.", _NUMBERS.get(code))


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Turn errors of the database inside the block into a `LibraryError`."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.InterfaceError):
        # Mistakes of the caller, such as using a closed library.
        raise
    except UnicodeDecodeError as error:
        # A name in the schema, or a message about it.
        raise library_error(where, sqlite3.SQLITE_CORRUPT) from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        # The lower byte; the rest says more than users can act on, except that a full disk has no
        # room for the file that readers share.
        code = sqlite3.SQLITE_FULL if code == sqlite3.SQLITE_IOERR_SHMSIZE else code & 0xFF
        raise library_error(where, code) from error


# Distinguishes databases of attnlab from those of other programs: the letters "attn".
APPLICATION = 0x6174746E


def version_of(connection: sqlite3.Connection, where: str, *, newest: int) -> int:
    """Return the version of the tables, 0 if there are none.

    Raises `LibraryError` for tables of another program, or of a newer attnlab.
    """

    def number(statement: str) -> int:
        return connection.execute(statement).fetchone()[0]

    tables = number("SELECT count(*) FROM sqlite_master")
    if tables and number("PRAGMA application_id") != APPLICATION:
        raise library_error(where, sqlite3.SQLITE_NOTADB)
    version = number("PRAGMA user_version")
    if version > newest:
        raise LibraryError(
            f"The library {where} was made by a newer attnlab: its version is {version}, and "
            f"this one "
            f"reads up to {newest}. Update attnlab, or name another folder in `ATTNLAB_LIBRARY`."
        )
    return version if tables else 0


class Database:
    """A SQLite file, or memory if `path` is None. It can be rebuilt.

    One program writes at a time; another waits at most `patience` seconds and then gets an error.
    A damaged file, or one with other tables, is moved away to `….damaged`; the new one is empty.
    If it is not `writable`, a copy in memory is used. Raises `LibraryError` for a database of
    another program or a newer attnlab.
    """

    def __init__(self, path: Path | None, *, where: str, writable: bool, patience: float):
        self.where, self.writable, self._path = where, writable, path
        self._lock = threading.RLock()
        with explained(where):
            if path is not None and path.exists() and not path.is_file():
                # SQLite would wait for the other end of a FIFO.
                raise library_error(where, sqlite3.SQLITE_NOTADB)
            try:
                self._connection = self._opened(patience)
            # Python cannot decode SQLite's message about a schema that is not UTF-8.
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                damaged = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
                is_text = isinstance(error, UnicodeDecodeError)
                if not is_text and getattr(error, "sqlite_errorcode", 0) & 0xFF not in damaged:
                    raise
                self._connection = self._opened(patience, replace=True)
        self.close = weakref.finalize(self, self._connection.close)

    def _opened(self, patience: float, *, replace: bool = False) -> sqlite3.Connection:
        path = self._path if self.writable else None
        if replace and path is not None:
            # Another program may have been faster.
            with contextlib.suppress(FileNotFoundError):
                os.replace(path, path.with_name(f"{path.name}.damaged"))
        connection = sqlite3.connect(
            ":memory:" if path is None else path,
            timeout=patience,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            if not self.writable and not replace and present(self._path).exists():
                address = f"{present(self._path).absolute().as_uri()}?mode=ro"
                with contextlib.closing(sqlite3.connect(address, uri=True)) as file:
                    file.backup(connection)
            # Otherwise one damaged text would keep a whole page from being read.
            connection.text_factory = lambda data: data.decode(errors="replace")
            # Otherwise large sorts would go to files.
            connection.execute("PRAGMA temp_store = MEMORY")
            # What a crash of the machine destroys can be made again.
            connection.execute("PRAGMA synchronous = OFF")
            if not version_of(connection, self.where, newest=VERSION):
                self._create(connection)
            self._check(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        schema = "SELECT sql FROM sqlite_master WHERE sql NOTNULL"
        found = {sql for (sql,) in connection.execute(schema)}
        checked = connection.execute("PRAGMA quick_check").fetchone()
        if found != {*TABLES, _SEQUENCE} or checked != ("ok",):
            error = sqlite3.DatabaseError("a damaged index")
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error

    def _create(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        # Another program may have been faster.
        if not version_of(connection, self.where, newest=VERSION):
            for statement in TABLES:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Open a read transaction: all statements of the block see the same state."""
        with self._lock, explained(self.where):
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                self._give_up()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction: all statements of the block take effect, or none."""
        with self._lock, explained(self.where):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                self._give_up()

    def check_writable(self) -> None:
        """Raise `LibraryError` if the library is read-only."""
        if not self.writable:
            raise library_error(self.where, sqlite3.SQLITE_READONLY)

    def _give_up(self) -> None:
        """Roll back the current transaction, if there is one."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def size(self) -> int:
        """Return its size in bytes, in its file or in memory."""
        if self._path is not None:
            return self._path.stat().st_size if self._path.exists() else 0
        with self.reading() as connection:
            pages, free, bytes_each = (
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
            return (pages - free) * bytes_each
