"""The files of a library: of each run a summary, `7.json`, and perhaps its model, `7.run`."""

import errno
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from attnlab.configuration.options import AttnlabError, present
from attnlab.runs.library.summary import MOST_SUMMARY_BYTES
from attnlab.runs.storage import MOST_FILE_BYTES, is_run_file
from attnlab.runs.whole_file import read_bytes, write_part

try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

SUMMARY = re.compile(r"([1-9][0-9]{0,15})\.json")
# Some models are named by 32 hexadecimal digits.
MODEL = re.compile(r"[0-9a-f]{1,32}\.run")
_LOCK = "lock"
_SECONDS_BETWEEN_TRIES = 0.02
_FREEING = "`attnlab runs empty-bin` and `attnlab runs delete --for-good` work on a full disk"
_ANOTHER = "name another folder in `ATTNLAB_LIBRARY`"


class LibraryError(AttnlabError, OSError):
    """A library that cannot be opened, read or written. States the problem and the remedy."""

    def __init__(self, text: str, number: int | None = None):
        super().__init__(text)
        self.errno = number

    def __reduce__(self):
        # `errno` is not among the attributes that pickling saves.
        return type(self), (str(self), self.errno)


class Files:
    """Files by name, in a folder or in memory if it is None.

    Subfolder `runs` has them, and the file `lock` the largest number that a run has had. One
    program writes at a time; another waits at most `patience` seconds and then gets an error.
    Raises `LibraryError` for a folder that cannot be created.
    """

    def __init__(self, folder: Path | None, *, patience: float):
        self.where = "in memory" if folder is None else f"in {folder}"
        self.held: dict[str, bytes] = {}
        self._folder, self._patience = folder, patience
        self._largest, self._guard, self._number_file = 0, threading.RLock(), -1
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise LibraryError(
                    f"The folder {folder} of the library cannot be made: {error.strerror}. "
                    "Name another in `ATTNLAB_LIBRARY`, or set it to off.",
                    error.errno,
                ) from error

    @property
    def runs(self) -> Path | None:
        """The folder of the runs, which is created with its first file."""
        return None if self._folder is None else self._folder / "runs"

    def read(self, name: Any) -> bytes:
        """Return the contents, or the first bytes of a file that is of another kind.

        Raises `OSError` if it is missing, too large or not a regular file.
        """
        # A summary that another program wrote may name anything.
        is_model = isinstance(name, str) and MODEL.fullmatch(name)
        if not is_model and not (isinstance(name, str) and SUMMARY.fullmatch(name)):
            raise FileNotFoundError(errno.ENOENT, "not the name of a library file", str(name))
        if self.runs is None:
            if name not in self.held:
                raise FileNotFoundError(errno.ENOENT, "it is missing", name)
            return self.held[name]
        is_right = is_run_file if is_model else (lambda head: head.startswith(b"{"))
        most = MOST_FILE_BYTES if is_model else MOST_SUMMARY_BYTES
        return read_bytes(self.runs / name, is_right=is_right, most=most, follow=False)

    def exists(self, name: str) -> bool:
        """Return whether a file of this name exists."""
        return name in self.held or (self.runs is not None and os.path.lexists(self.runs / name))

    def stamps(self) -> dict[int, str]:
        """Return a text for each summary, by its number, that changes whenever the file changes."""
        found = {name: str(hash(data)) for name, data in dict(self.held).items()}
        files = self._found(lambda name: name.endswith(".json"))
        found |= {name: f"{file.st_mtime_ns} {file.st_size}" for name, file in files.items()}
        matches = ((SUMMARY.fullmatch(name), stamp) for name, stamp in found.items())
        return {int(match.group(1)): stamp for match, stamp in matches if match}

    def size(self) -> int:
        """Return the size of all files in bytes."""
        files = sum(file.st_size for file in self._found(lambda name: True).values())
        if self._folder is not None:
            with suppress(FileNotFoundError):
                files += (self._folder / _LOCK).stat().st_size
        return files + sum(map(len, dict(self.held).values()))

    def delete(self, name: Any) -> None:
        """Delete a file, if it exists and has the name of a model or a summary."""
        if isinstance(name, str) and (MODEL.fullmatch(name) or SUMMARY.fullmatch(name)):
            self.held.pop(name, None)
            # On some systems a file that another program has open cannot be deleted, and stays.
            with suppress(OSError):
                if self.runs is not None:
                    (self.runs / name).unlink(missing_ok=True)

    def delete_leftovers(self, models: Set[str] | None, *, before: datetime) -> None:
        """Delete files that no run needs, if they were last changed before that time.

        These are the partial files of killed programs and, unless `models` is None, models that are
        not in it.
        """

        def is_leftover(name: str) -> bool:
            is_model = MODEL.fullmatch(name) is not None
            return name.endswith(".part") or (
                models is not None and is_model and name not in models
            )

        for name, file in self._found(is_leftover).items():
            with suppress(OSError):
                if file.st_mtime < before.timestamp():
                    (present(self.runs) / name).unlink()

    def check_writable(self) -> None:
        """Raise `LibraryError` if the library is read-only."""
        paths = () if self._folder is None else (self._folder, present(self.runs))
        lock = () if self._folder is None else (self._folder / _LOCK,)
        if not all(os.access(path, os.W_OK) for path in (*paths, *lock) if path.exists()):
            raise LibraryError(
                f"The library {self.where} may be read but not written. Make its folder writable, "
                f"or {_ANOTHER}.",
                errno.EROFS,
            )

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lock the library: no other thread or program writes within the block."""
        self.check_writable()
        with self._guard:
            if self._folder is None:
                yield
                return
            try:
                file = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError as error:
                raise self.error(error, "cannot be written") from error
            try:
                self._lock(file)
                text = os.read(file, 20)
                self._largest = max(int(text) if text.isdigit() else 0, *self.stamps(), 0)
                self._number_file = file
                yield
            finally:
                os.close(file)

    def _lock(self, file: int) -> None:
        end = time.monotonic() + self._patience
        while True:
            try:
                if os.name == "nt":
                    # Far behind the number, since on Windows a locked byte cannot be read.
                    os.lseek(file, 1_000, os.SEEK_SET)
                    msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
                    os.lseek(file, 0, os.SEEK_SET)
                else:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
                    raise self.error(error, "cannot be written") from error
                if time.monotonic() > end:
                    raise LibraryError(
                        f"The library {self.where} is being written by another program. Try again "
                        "when that is done, or close it.",
                        error.errno,
                    ) from None
            time.sleep(_SECONDS_BETWEEN_TRIES)

    def new_number(self) -> int:
        """Return a number that no run has had. Call it while `writing`."""
        self._largest += 1
        return self._largest

    def save_number(self) -> None:
        """Write the largest number that was given. Call it while `writing`."""
        if self._folder is not None:
            try:
                os.lseek(self._number_file, 0, os.SEEK_SET)
                os.write(self._number_file, str(self._largest).encode())
            except OSError as error:
                raise self.error(error, "could not save a run") from error

    def error(self, error: OSError, problem: str) -> LibraryError:
        """Return a `LibraryError` for an error of the disk; `problem` says what failed."""
        why = os.strerror(error.errno) if error.errno else str(error)
        return LibraryError(
            f"The library {self.where} {problem}: {why}. Check that its disk has space and that "
            f"its folder is writable. {_FREEING}.",
            error.errno,
        )

    def _found(self, is_wanted: Callable[[str], bool]) -> dict[str, os.stat_result]:
        """Return the regular files in the folder that have such a name."""
        found = {}
        if self.runs is None or not self.runs.exists():
            return found
        with os.scandir(self.runs) as entries:
            for entry in entries:
                # Another program may delete it meanwhile.
                with suppress(FileNotFoundError):
                    if is_wanted(entry.name) and entry.is_file(follow_symlinks=False):
                        found[entry.name] = entry.stat(follow_symlinks=False)
        return found


class Change:
    """New contents of several files: all are written before the first takes its place.

    `bytes` counts what was written. Raises `LibraryError`, which names the `action`, if the disk is
    full or may not be written. Without `durable` a crash of the machine within `apply` may lose
    files.
    """

    def __init__(self, files: Files, action: str, *, durable: bool):
        self.bytes = 0
        self._files, self._action, self._durable = files, action, durable
        self._contents: dict[str, bytes] = {}
        self._parts: dict[str, Path] = {}
        self._added: list[str] = []

    def write(self, name: str, data: bytes) -> None:
        """Write a file beside its place."""
        self.bytes += len(data)
        folder = self._files.runs
        if folder is None:
            self._contents[name] = data
            return
        try:
            folder.mkdir(exist_ok=True)
            self._parts[name] = write_part(data, folder / name, durable=self._durable)
        except OSError as error:
            raise self._files.error(error, f"could not {self._action}") from error

    def apply(self) -> None:
        """Put all files into their places."""
        self._files.held |= self._contents
        if self._parts and not self._durable and hasattr(os, "sync"):
            os.sync()
        for name, part in self._parts.items():
            if not self._files.exists(name):
                self._added.append(name)
            try:
                os.replace(part, present(self._files.runs) / name)
            except OSError as error:
                raise self._files.error(error, f"could not {self._action}") from error

    def undo(self) -> None:
        """Delete the files that are not in their places yet, and those that did not exist before.

        Existing files that were already replaced keep their new contents. This takes a folder that
        becomes unwritable after all files were written.
        """
        for part in self._parts.values():
            part.unlink(missing_ok=True)
        for name in self._added:
            self._files.delete(name)
