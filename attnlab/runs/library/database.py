"""The database of a library: its tables, its connection, and its errors."""

import errno
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from attnlab.configuration.options import AttnlabError

_ANOTHER = "name another folder in `ATTNLAB_LIBRARY`"
_UNKNOWN = ("cannot be used", f"See that its disk can be read and written, or {_ANOTHER}")
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


# Distinguishes a library from databases of other programs: the letters "attn".
_APPLICATION = 0x6174746E

# Entry n leads from version n to the next; a new library goes through all of them. Searched and
# sorted columns are in a separate table from those that are only shown, so that searching reads
# little. A number is never used twice, since a continued run writes to its own.
_STEPS = (
    (
        """
        CREATE TABLE runs (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            settings TEXT NOT NULL,
            seed INTEGER NOT NULL,
            generator TEXT NOT NULL,
            model TEXT NOT NULL,
            length INTEGER NOT NULL,
            state TEXT NOT NULL,
            reason TEXT NOT NULL,
            steps INTEGER NOT NULL,
            seconds REAL NOT NULL,
            parameters INTEGER NOT NULL,
            nll REAL,
            nll_stderr REAL,
            accuracy REAL,
            accuracy_stderr REAL,
            name TEXT NOT NULL,
            note TEXT NOT NULL,
            words TEXT NOT NULL,
            attnlab TEXT NOT NULL,
            jax TEXT NOT NULL,
            date TEXT NOT NULL,
            file TEXT,
            file_bytes INTEGER NOT NULL DEFAULT 0
        )
        """,
        """
        CREATE TABLE details (
            number INTEGER PRIMARY KEY,
            experiment TEXT NOT NULL,
            tests BLOB NOT NULL,
            curve BLOB NOT NULL
        )
        """,
        "CREATE TABLE tags (tag TEXT, number INTEGER, PRIMARY KEY (tag, number)) WITHOUT ROWID",
        "CREATE INDEX tags_by_number ON tags (number)",
        "CREATE INDEX runs_by_date ON runs (date)",
        "CREATE INDEX runs_by_identity ON runs (settings, seed, date)",
        "CREATE INDEX runs_by_generator ON runs (generator, date)",
        "CREATE INDEX runs_by_model ON runs (model, date)",
    ),
    # The bin, the number of changed settings, and what the settings were hashed by.
    (
        "ALTER TABLE runs ADD COLUMN deleted TEXT",
        "ALTER TABLE runs ADD COLUMN changes INTEGER NOT NULL DEFAULT 0",
        "CREATE TABLE about (form TEXT NOT NULL)",
        "INSERT INTO about VALUES ('')",
        "CREATE INDEX runs_in_bin ON runs (deleted) WHERE deleted IS NOT NULL",
    ),
    # For tasks.
    ("ALTER TABLE runs ADD COLUMN exact_match REAL",),
    # Empty for older runs: they are reused only if any version will do.
    (
        "ALTER TABLE runs ADD COLUMN jaxlib TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN platform TEXT NOT NULL DEFAULT ''",
    ),
    # The loss minus that of the exact predictions.
    (
        "ALTER TABLE runs ADD COLUMN excess REAL",
        "ALTER TABLE runs ADD COLUMN excess_stderr REAL",
    ),
)
VERSION = len(_STEPS)
# The oldest version that can be read without migration, if it is read-only: newer ones only add
# columns.
READABLE = 2


def version_of(connection: sqlite3.Connection, where: str) -> int:
    """Return the version of the tables, 0 if there are none.

    Raises `LibraryError` for tables of another program, or of a newer attnlab.
    """

    def number(statement: str) -> int:
        return connection.execute(statement).fetchone()[0]

    tables = number("SELECT count(*) FROM sqlite_master")
    if tables and number("PRAGMA application_id") != _APPLICATION:
        raise library_error(where, sqlite3.SQLITE_NOTADB)
    version = number("PRAGMA user_version")
    if version > VERSION:
        raise LibraryError(
            f"The library {where} is of a newer attnlab: its version is {version}, and this one "
            f"reads up to {VERSION}. Update attnlab, or name another folder in `ATTNLAB_LIBRARY`."
        )
    return version


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Migrate tables of that version to `VERSION`, within the current transaction."""
    for statements in _STEPS[version:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


# How often switching to write-ahead mode is tried, in case others try it too.
_ATTEMPTS = 10


class Database:
    """A library's SQLite file, or memory if `path` is None.

    One program writes at a time; another waits at most `patience` seconds and then gets an error.
    Readers never wait. A file without write access is only read, see `writable`. Raises
    `LibraryError` for a file that is not a library, is damaged, or of a newer attnlab; it is left
    as it is.
    """

    def __init__(self, path: Path | None, *, patience: float):
        self.where = "in memory" if path is None else f"in {path.parent}"
        self._path = path
        self._lock = threading.RLock()
        self.writable = path is None or _may_be_written(path)
        with explained(self.where):
            if path is not None and path.exists() and not path.is_file():
                # SQLite would wait forever for the other end of a FIFO.
                raise library_error(self.where, sqlite3.SQLITE_NOTADB)
            self._connection = self._connect(patience)
            self.close = weakref.finalize(self, self._connection.close)
            self._connection.row_factory = sqlite3.Row
            # Otherwise one damaged text would keep a whole page from being read.
            self._connection.text_factory = lambda data: data.decode(errors="replace")
            self._prepare()

    def _connect(self, patience: float) -> sqlite3.Connection:
        def connected(name: str) -> sqlite3.Connection:
            connection = sqlite3.connect(
                name, uri=True, timeout=patience, isolation_level=None, check_same_thread=False
            )
            try:
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            except BaseException:
                connection.close()
                raise
            return connection

        if self._path is None:
            return connected(":memory:")
        address = self._path.absolute().as_uri()
        if self.writable:
            return connected(f"{address}?mode=rwc")
        try:
            return connected(f"{address}?mode=ro")
        except sqlite3.OperationalError:
            # It needs files in the same folder, which cannot be created. `immutable` works without
            # them, but ignores the write-ahead log, which exists while another program writes or
            # after a crash.
            ahead = self._beside("-wal")
            if not self._path.exists() or (ahead.exists() and ahead.stat().st_size):
                raise
            return connected(f"{address}?immutable=1")

    def _prepare(self) -> None:
        # Files of other programs are not changed, but rejected.
        version = version_of(self._connection, self.where)
        if self._path is None:
            # Otherwise large sorts would go to files.
            self._connection.execute("PRAGMA temp_store = MEMORY")
        elif self.writable:
            self._write_ahead()
        if version < (VERSION if self.writable else READABLE):
            with self.writing() as connection:
                # Another program may have been faster.
                migrate(connection, version_of(connection, self.where))

    def _write_ahead(self) -> None:
        """Let readers not wait for a writer. The file remembers this mode."""
        for _ in range(_ATTEMPTS):
            if self._connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
                return
            # Two programs that switch at once fail immediately, without any timeout; only beginning
            # to write waits.
            with suppress(sqlite3.OperationalError):
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("ROLLBACK")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Return the connection, for statements that see the same state."""
        with self._lock, explained(self.where):
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                self._give_up()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Return the connection, for statements of which all or none take effect."""
        with self._lock, explained(self.where):
            self.check_writable()
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                self._give_up()

    def check_writable(self) -> None:
        """Raise `LibraryError` if the database is read-only."""
        if not self.writable:
            raise library_error(self.where, sqlite3.SQLITE_READONLY)

    def _give_up(self) -> None:
        """Roll back the current transaction, if there is one."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def size(self) -> int:
        """Return its bytes, in files or in memory."""
        if self._path is not None:
            files = (self._beside(end) for end in ("", "-wal", "-shm"))
            return sum(file.stat().st_size for file in files if file.exists())
        with self.reading() as connection:
            (pages,), (free,), (bytes_each,) = (
                connection.execute(f"PRAGMA {name}").fetchone()
                for name in ("page_count", "freelist_count", "page_size")
            )
            return (pages - free) * bytes_each

    def _beside(self, end: str) -> Path:
        return self._path.with_name(self._path.name + end)


def _may_be_written(path: Path) -> bool:
    return os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))
