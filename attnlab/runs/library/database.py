"""The database of a library: one connection, which one thread has at a time."""

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from attnlab.runs.library.library_error import explained, library_error
from attnlab.runs.library.schema import READABLE, VERSION, migrate, version_of

# How often it is tried to let readers not wait, while others try it too.
_ATTEMPTS = 10


class Database:
    """What is in a file of SQLite, or in memory if `path` is None.

    One program writes at a time; another waits for it at most `patience` seconds and is then
    refused. Reading waits for nobody. A file that may not be written is only read, as `writable`
    says. Refused, with a `LibraryError`: what is not a library, is damaged, or of a newer attnlab;
    it is left as it is.
    """

    def __init__(self, path: Path | None, *, patience: float):
        self.where = "in memory" if path is None else f"in {path.parent}"
        self._path = path
        self._lock = threading.RLock()
        self.writable = path is None or _may_be_written(path)
        with explained(self.where):
            if path is not None and path.exists() and not path.is_file():
                # SQLite would wait for ever for the other end of a FIFO.
                raise library_error(self.where, sqlite3.SQLITE_NOTADB)
            self._connection = self._connect(patience)
            self.close = weakref.finalize(self, self._connection.close)
            self._connection.row_factory = sqlite3.Row
            # One damaged text would else keep all of a page from being read.
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
            # It asks for files beside it, which cannot be made. Without what was written ahead,
            # which is there while somebody writes or after a crash, it does without.
            ahead = self._beside("-wal")
            if not self._path.exists() or (ahead.exists() and ahead.stat().st_size):
                raise
            return connected(f"{address}?immutable=1")

    def _prepare(self) -> None:
        # Of others, nothing is changed; it is refused.
        version = version_of(self._connection, self.where)
        if self._path is None:
            # What is sorted would else be put into files when it is much.
            self._connection.execute("PRAGMA temp_store = MEMORY")
        elif self.writable:
            self._write_ahead()
        if version < (VERSION if self.writable else READABLE):
            with self.writing() as connection:
                # Another program may have been quicker.
                migrate(connection, version_of(connection, self.where))

    def _write_ahead(self) -> None:
        """Let readers not wait for a writer. The file remembers it."""
        for _ in range(_ATTEMPTS):
            if self._connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
                return
            # Two that try it at the same time refuse each other at once, without any patience; to
            # begin to write is what waits.
            with suppress(sqlite3.OperationalError):
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("ROLLBACK")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, for statements that see the same moment."""
        with self._lock, explained(self.where):
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                self._give_up()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The connection, for statements of which all count or none."""
        with self._lock, explained(self.where):
            self.check_writable()
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                self._give_up()

    def check_writable(self) -> None:
        """Refuse, with a `LibraryError`, a database that is only read."""
        if not self.writable:
            raise library_error(self.where, sqlite3.SQLITE_READONLY)

    def _give_up(self) -> None:
        """End what is under way, if anything is, as if it had not been begun."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def size(self) -> int:
        """Its bytes, in files or in memory."""
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
