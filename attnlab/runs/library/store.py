"""The rows of a library together with their model files."""

import abc
import errno
import math
import os
import re
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from attnlab.configuration.visible_text import visible
from attnlab.runs.differences import identity_of
from attnlab.runs.library import table
from attnlab.runs.library.database import Database, LibraryError
from attnlab.runs.library.summary import moment
from attnlab.runs.library.table import settings_form
from attnlab.runs.run_file_header import RunFileError
from attnlab.runs.storage import MOST_FILE_BYTES, is_run_file
from attnlab.runs.whole_file import read_bytes, save_bytes
from attnlab.training.experiment import from_json

_END = ".run"
_NAME = re.compile(rf"[0-9a-f]+{re.escape(_END)}")


class AbstractFiles(abc.ABC):
    """Run files under generated names."""

    @abc.abstractmethod
    def write(self, data: bytes) -> str:
        """Write a run file, whole or not at all; return its name. Raises `OSError` if full."""

    @abc.abstractmethod
    def read(self, name: str) -> bytes:
        """Return the contents of a name. Raises `OSError` if it is missing."""

    @abc.abstractmethod
    def delete(self, name: str) -> None:
        """Delete it, if it exists."""

    @abc.abstractmethod
    def delete_others(self, names: Set[str], *, before: datetime) -> None:
        """Delete what has none of these names and was written before that time."""


class FolderFiles(AbstractFiles):
    """Files in a folder, which is created with the first one."""

    def __init__(self, folder: Path):
        self._folder = folder

    def write(self, data):
        self._folder.mkdir(exist_ok=True)
        name = secrets.token_hex(16) + _END
        save_bytes(data, self._folder / name)
        return name

    def read(self, name):
        path = self._path(name)
        return read_bytes(path, is_right=is_run_file, most=MOST_FILE_BYTES, follow=False)

    def delete(self, name):
        # On some systems a file that another program has open cannot be deleted, and stays.
        with suppress(OSError):
            self._path(name).unlink(missing_ok=True)

    def delete_others(self, names, *, before):
        for path in self._folder.glob(f"*{_END}*") if self._folder.exists() else ():
            with suppress(OSError):
                if path.name not in names and path.stat().st_mtime < before.timestamp():
                    path.unlink()

    def _path(self, name: str) -> Path:
        # A database that was tampered with may name anything.
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise FileNotFoundError(errno.ENOENT, "no name of a run file", str(name))
        return self._folder / name


class MemoryFiles(AbstractFiles):
    """Bytes by name."""

    def __init__(self):
        self._kept: dict[str, bytes] = {}

    def write(self, data):
        name = secrets.token_hex(16)
        self._kept[name] = data
        return name

    def read(self, name):
        if name not in self._kept:
            raise FileNotFoundError(name)
        return self._kept[name]

    def delete(self, name):
        self._kept.pop(name, None)

    def delete_others(self, names, *, before):
        """In memory nothing is left over."""


# Far longer than between writing a model's file and its row.
_LEFTOVER = timedelta(days=1)
_MOST_CHARACTERS = 60


class Store:
    """A database and its files: a file is written before its row and deleted after it.

    So a killed program leaves at most files without a row; an opening a day later deletes them.
    Raises `LibraryError` for a folder that cannot be created, more than `most_bytes`, and as
    `Database`.
    """

    def __init__(self, folder: Path | None, *, most_bytes: int | None, patience: float):
        self._most_bytes = most_bytes
        if folder is None:
            self._files, path = MemoryFiles(), None
        else:
            self._files, path = FolderFiles(folder / "runs"), folder / "library.sqlite"
            _make(folder)
        self._database = Database(path, patience=patience)
        self.reading, self.writing = self._database.reading, self._database.writing
        self.close = self._database.close

    @contextmanager
    def adding(
        self, rows: Iterable[tuple[dict[str, Any], bytes | None]]
    ) -> Iterator[sqlite3.Connection]:
        """Like `writing`, with models written and named in their rows; all or nothing applies."""
        self._database.check_writable()
        room, names = self._room(), []
        try:
            for row, model in rows:
                parts = [*row.values(), model]
                room -= sum(len(part) for part in parts if isinstance(part, str | bytes))
                if room < 0:
                    raise LibraryError(
                        f"The library {self._database.where} is full: it may have "
                        f"{self._most_bytes / 1e6:,.0f} MB. Delete runs and empty the bin."
                    )
                if model is not None:
                    row |= {"file": self._written(model), "file_bytes": len(model)}
                    names.append(row["file"])
            with self.writing() as connection:
                yield connection
        except BaseException:
            self.forget(names)
            raise

    def _room(self) -> float:
        """Return how many more bytes fit."""
        return math.inf if self._most_bytes is None else self._most_bytes - self.size()

    def _written(self, model: bytes) -> str:
        try:
            return self._files.write(model)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise LibraryError(
                f"The library {self._database.where} could not keep a model: {why}. "
                "See that its disk has space and that its folder may be written.",
                error.errno,
            ) from error

    def forget(self, names: Iterable[str]) -> None:
        """Delete files that no row names any more."""
        for name in names:
            self._files.delete(name)

    def model_of(self, row: Mapping[str, Any]) -> bytes:
        """Return the bytes of a row's file; raise an error if it is missing."""
        while True:
            try:
                return self._files.read(row["file"])
            except OSError as error:
                with self.reading() as connection:
                    again = table.row_at(connection, row["number"])
                # The run may have continued meanwhile, and have another file.
                if again is None or again["file"] in (None, row["file"]):
                    is_missing = isinstance(error, FileNotFoundError)
                    problem = "is missing" if is_missing else "is not a regular file"
                    file = visible(str(row["file"])[:_MOST_CHARACTERS])
                    raise RunFileError(f"Its file {file} {problem}.") from error
                row = again

    def purge(self, by: datetime) -> None:
        """Delete permanently what was in the bin at that date."""
        with self.reading() as connection:
            files = table.files_deleted(connection, moment(by))
        if files:
            with self.writing() as connection:
                # Again, since some may have been restored meanwhile.
                files = table.files_deleted(connection, moment(by))
                table.remove(connection, moment(by))
            self.forget(file for file in files if file)

    def tidy_up(self, now: datetime, *, bin_days: int) -> None:
        """Do what is due at an opening; if read-only or busy, it can wait."""
        with suppress(LibraryError):
            self._database.check_writable()
            self.purge(now - timedelta(days=bin_days))
            self._hash_settings()
            with self.reading() as connection:
                names = table.files_of(connection)
            self._files.delete_others(names, before=now - _LEFTOVER)

    def _hash_settings(self) -> None:
        """Hash all settings as this attnlab does, if another version hashed them.

        A version with a new option, which old runs have at its default, hashes them differently.
        """
        form = settings_form()
        with self.reading() as connection:
            if table.form_of(connection) == form:
                return
            experiments = table.experiments_of(connection)
        settings = []
        for number, text in experiments:
            # Unreadable runs are reported where they are listed.
            with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
                settings.append((identity_of(from_json(text)).settings, number))
        with self.writing() as connection:
            table.put_settings(connection, settings, form)

    def size(self) -> int:
        """Return all its bytes, on disk or in memory."""
        with self.reading() as connection:
            models = table.bytes_of_files(connection)
        return self._database.size() + models


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LibraryError(
            f"The folder {folder} of the library cannot be made: {error.strerror}. "
            "Name another in `ATTNLAB_LIBRARY`, or set it to off.",
            error.errno,
        ) from error
