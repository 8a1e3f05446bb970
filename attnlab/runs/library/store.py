"""The files of a library and their index, which is made from them."""

import errno
import itertools
import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from attnlab.configuration.options import present
from attnlab.configuration.visible_text import visible
from attnlab.runs.library import table
from attnlab.runs.library.database import Database, LibraryError
from attnlab.runs.library.earlier import rows_to_convert
from attnlab.runs.library.files import FileChanges, Files
from attnlab.runs.library.summary import from_summary, moment, summary_in, to_summary
from attnlab.runs.run_file_header import RunFileError
from attnlab.runs.run_summary import RunSummary

_INDEX, _EARLIER = "index.sqlite", "library.sqlite"
# Far longer than writing a file and putting it into its place takes.
_LEFTOVER = timedelta(hours=1)
_MOST_CHARACTERS = 60
_MOST_NUMBER = 10**16 - 1


class Store:
    """The files of a library, which are the source of truth, and their index.

    Every summary is a record: JSON as `from_summary` reads it. `problems` has texts about those
    that could not be read, by the numbers of their runs. Raises `LibraryError` for a folder that
    cannot be created, and as `Database`.
    """

    def __init__(
        self, folder: Path | None, *, most_bytes: int | None, patience: float, indexed: bool
    ):
        self.problems: dict[int, str] = {}
        self._most_bytes = most_bytes
        where, path, files = "in memory", None, None
        if folder is not None:
            _make(folder)
            where, path, files = f"in {folder}", folder / _INDEX, folder / "runs"
        self.files = Files(files, where=where)
        writable = folder is None or _may_be_written(folder)
        path = path if indexed or not writable else None
        self._database = Database(path, where=where, writable=writable, patience=patience)
        self.reading, self.check_writable = self._database.reading, self._database.check_writable
        self.close = self._database.close
        try:
            if folder is not None:
                self._convert(folder / _EARLIER, patience)
            self._read_changed_files()
        except BaseException:
            self.close()
            raise
        # Each is reported where it is listed.
        self.problems.clear()

    def _convert(self, path: Path, patience: float) -> None:
        """Write the runs of a library of an earlier version into files."""
        where, writable = self._database.where, self._database.writable
        with rows_to_convert(path, where, writable=writable, patience=patience) as rows:
            if not writable:
                self.files.held = {_name(number): to_summary(record) for number, record in rows}
                return
            if (first := next(rows, None)) is None:
                return
            with self.changing("convert runs", durable=False) as change:
                for number, record in itertools.chain([first], rows):
                    # There is a file if the conversion was interrupted.
                    there = self.record(number)
                    is_other = there is not None and there.get("date") != record["date"]
                    if is_other or not 0 < number <= _MOST_NUMBER:
                        number = change.new_number()
                    change.put(number, record)

    def _read_changed_files(self) -> None:
        """Update the index from summaries that were written or deleted since."""
        form = table.settings_form()

        def changes(connection: sqlite3.Connection) -> tuple[set[int], dict[int, str], bool]:
            is_same_form = table.forms_of(connection) == [form]
            known = table.stamps_of(connection) if is_same_form else {}
            found = self.files.stamps()
            changed = {number: stamp for number, stamp in found.items()
                       if known.get(number) != stamp
                       # The class that it needs may be registered now.
                       and (known.get(number) != f"?{stamp}" or self.entry(number) is not None)
                       }  # fmt: skip
            return known.keys() - found.keys(), changed, is_same_form

        with self.reading() as connection:
            found = changes(connection)
        if found == (set(), {}, True):
            return
        with self._database.writing() as connection:
            gone, changed, is_same_form = changes(connection)
            if not is_same_form:
                table.clear(connection, form)
            for number in gone:
                table.remove(connection, number)
            for number, stamp in changed.items():
                record = self.record(number)
                entry = None if record is None else self.entry(number, record)
                table.put(connection, number, stamp, record or {}, entry)

    def rebuild(self) -> int:
        """Make the index again; return how many runs it has that can be read."""
        self.check_writable()
        with self._database.writing() as connection:
            table.clear(connection, "")
        self.problems.clear()
        self._read_changed_files()
        with self.reading() as connection:
            stamps = table.stamps_of(connection)
        return sum(not stamp.startswith("?") for stamp in stamps.values())

    def record(self, number: int) -> dict[str, Any] | None:
        """Return the summary of a run; None if it is missing or, with a problem, damaged."""
        try:
            return from_summary(self.files.read(_name(number)))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            return self._has_problem(number, error)

    def entry(self, number: int, record: Mapping[str, Any] | None = None) -> RunSummary | None:
        """Return a run, by default from its file; None if it is missing or damaged."""
        record = self.record(number) if record is None else record
        if record is None:
            return None
        try:
            entry = summary_in(record, number)
        except ValueError as error:
            return self._has_problem(number, error)
        self.problems.pop(number, None)
        return entry

    def _has_problem(self, number: int, error: Exception) -> None:
        why = f"{error.strerror}." if isinstance(error, OSError) else error
        self.problems[number] = (
            f"Run {number} cannot be read. {why} Its file {_name(number)} is damaged, or of "
            "another version of attnlab. Update attnlab, or delete it."
        )

    def model_of(self, record: Mapping[str, Any]) -> bytes:
        """Return the bytes of a run's model; raise `RunFileError` if it is missing."""
        try:
            return self.files.read(record["file"])
        except OSError as error:
            is_missing = isinstance(error, FileNotFoundError)
            file = visible(str(record["file"])[:_MOST_CHARACTERS])
            problem = "is missing" if is_missing else "is not a regular file"
            raise RunFileError(f"Its file {file} {problem}.") from error

    @contextmanager
    def changing(
        self, action: str, *, durable: bool = True, limited: bool = False
    ) -> Iterator["Change"]:
        """Yield a change of files and index, of which all or nothing takes effect.

        `action` is for errors, such as "save a run".

        Raises `LibraryError` if it cannot be written, or is `limited` and exceeds `most_bytes`.
        """
        self.check_writable()
        room = math.inf
        if limited and self._most_bytes is not None:
            room = self._most_bytes - self.size()
        files = FileChanges(self.files, action, durable=durable)
        try:
            with self._database.writing() as connection:
                change = Change(self, connection, files)
                yield change
                if change.bytes > room:
                    raise LibraryError(
                        f"The library {self._database.where} is full: its limit is "
                        f"{present(self._most_bytes) / 1e6:,.0f} MB. Delete runs and empty the bin."
                    )
                files.apply()
        except BaseException:
            files.undo()
            raise

    def purge(self, by: datetime) -> None:
        """Permanently delete every run that was in the bin at the time `by`."""
        with self.reading() as connection:
            if not table.numbers_deleted(connection, moment(by)):
                return
        self.remove(lambda connection: table.numbers_deleted(connection, moment(by)))

    def remove(self, find: Callable[[sqlite3.Connection], Iterable[int]]) -> None:
        """Delete the runs that `find` returns permanently. This needs no space on the disk."""
        try:
            with self.changing("delete a run") as change:
                change.remove(find(change.connection))
        except LibraryError as error:
            # There was no space for the index. The next opening updates it.
            if error.errno != errno.ENOSPC:
                raise

    def tidy_up(self, now: datetime, *, bin_days: int) -> None:
        """Do the maintenance due when a library is opened; skip it if read-only or busy."""
        with suppress(LibraryError):
            self.check_writable()
            self.purge(now - timedelta(days=bin_days))
            with self.reading() as connection:
                stamps, models = table.stamps_of(connection), table.models_of(connection)
            # A summary that cannot be read may name any model.
            is_read = not any(stamp.startswith("?") for stamp in stamps.values())
            self.files.delete_leftovers(models if is_read else None, before=now - _LEFTOVER)

    def size(self) -> int:
        """Return its size in bytes, on disk or in memory."""
        return self.files.size() + self._database.size()


class Change:
    """Changes of runs within a transaction. `bytes` counts what was written."""

    def __init__(self, store: Store, connection: sqlite3.Connection, files: FileChanges):
        self.connection, self.bytes = connection, 0
        self._store, self._files = store, files

    def new_number(self) -> int:
        """Return a number that no run has had."""
        number = table.next_number(self.connection)
        # Another program may have another index, made after this one was deleted.
        while self._store.files.exists(_name(number)):
            number += 1
        return number

    def put(
        self,
        number: int,
        record: Mapping[str, Any],
        model: bytes | None = None,
        entry: RunSummary | None = None,
    ) -> Mapping[str, Any]:
        """Write a run, with its model if there is a new one; return its record."""
        if model is not None:
            record = {**record, "file": f"{number}.run"}
            self._files.write(record["file"], model)
        data = to_summary(record)
        stamp = self._files.write(_name(number), data)
        entry = entry or self._store.entry(number, record)
        table.put(self.connection, number, stamp, record, entry)
        self.bytes += len(data) + len(model or b"")
        return record

    def remove(self, numbers: Iterable[int]) -> None:
        """Delete runs permanently."""
        numbers = list(numbers)
        # The files first: the index may need their space.
        for number in numbers:
            record = self._store.record(number) or {}
            for name in (_name(number), record.get("file")):
                self._store.files.delete(name)
            self._store.problems.pop(number, None)
        for number in numbers:
            table.remove(self.connection, number)


def _name(number: int) -> str:
    return f"{number}.json"


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LibraryError(
            f"The folder {folder} of the library cannot be made: {error.strerror}. "
            "Name another in `ATTNLAB_LIBRARY`, or set it to off.",
            error.errno,
        ) from error


def _may_be_written(folder: Path) -> bool:
    paths = (folder, folder / "runs", folder / _INDEX, folder / _EARLIER)
    return all(os.access(path, os.W_OK) for path in paths if path.exists())
