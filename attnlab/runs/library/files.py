"""The files of a library: of each run a summary, `7.json`, and perhaps its model, `7.run`."""

import errno
import os
import re
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from attnlab.configuration.options import AttnlabError
from attnlab.runs.library.summary import MOST_SUMMARY_BYTES
from attnlab.runs.storage import MOST_FILE_BYTES, is_run_file
from attnlab.runs.whole_file import read_bytes, write_part

try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

_SUMMARY = re.compile(r"([1-9][0-9]{0,15})\.json")
# Some models are named by 32 hexadecimal digits.
_MODEL = re.compile(r"[0-9a-f]{1,32}\.run")
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

    Subfolder `runs`, which is created with its first file, has them, and the file `lock` the
    largest number that a run has had. One program writes at a time; another waits at most
    `patience` seconds and then gets an error. Raises `LibraryError` for a folder that cannot be
    created.
    """

    def __init__(self, folder: Path | None, *, patience: float):
        self.where = "in memory" if folder is None else f"in {folder}"
        self._held: dict[str, bytes] = {}
        self._runs = None if folder is None else folder / "runs"
        self._lock = None if folder is None else folder / _LOCK
        self._patience, self._guard = patience, threading.RLock()
        self._largest, self._lock_file = 0, -1
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise LibraryError(
                    f"The folder {folder} of the library cannot be made: {error.strerror}. "
                    "Name another in `ATTNLAB_LIBRARY`, or set it to off.",
                    error.errno,
                ) from error

    def read(self, name: Any) -> bytes:
        """Return the contents, or the first bytes of a file that is of another kind.

        Raises `OSError` if it is missing, too large or not a regular file.
        """
        # A summary that another program wrote may name anything.
        if not _is_name(name):
            raise FileNotFoundError(errno.ENOENT, "not the name of a library file", str(name))
        if self._runs is None:
            if name not in self._held:
                raise FileNotFoundError(errno.ENOENT, "it is missing", name)
            return self._held[name]
        path = self._runs / name
        if _MODEL.fullmatch(name):
            return read_bytes(path, is_right=is_run_file, most=MOST_FILE_BYTES, follow=False)
        is_right = lambda head: head.startswith(b"{")  # noqa: E731
        return read_bytes(path, is_right=is_right, most=MOST_SUMMARY_BYTES, follow=False)

    def stamps(self) -> dict[int, Hashable]:
        """Return a value for each summary, by its number, that changes whenever the file does."""
        stamps: dict[str, Hashable] = {name: hash(data) for name, data in self._held.copy().items()}
        for name, file in self._list(lambda name: name.endswith(".json")).items():
            stamps[name] = file.st_mtime_ns, file.st_size
        matches = ((_SUMMARY.fullmatch(name), stamp) for name, stamp in stamps.items())
        return {int(match[1]): stamp for match, stamp in matches if match}

    def size(self) -> int:
        """Return the size of all files in bytes."""
        size = sum(map(len, self._held.copy().values()))
        size += sum(file.st_size for file in self._list(lambda name: True).values())
        if self._lock is not None:
            with suppress(FileNotFoundError):
                size += self._lock.stat().st_size
        return size

    def delete(self, name: Any) -> None:
        """Delete a file, if it exists and has the name of a model or a summary."""
        if _is_name(name):
            self._held.pop(name, None)
            # On some systems a file that another program has open cannot be deleted, and stays.
            with suppress(OSError):
                if self._runs is not None:
                    (self._runs / name).unlink(missing_ok=True)

    def delete_leftovers(self, models: Set[str] | None, *, before: datetime) -> None:
        """Delete files that no run needs, if they were last changed before that time.

        These are the partial files of killed programs and, unless `models` is None, models that are
        not in it.
        """

        def is_leftover(name: str) -> bool:
            is_needed = models is None or name in models or not _MODEL.fullmatch(name)
            return name.endswith(".part") or not is_needed

        for name, file in self._list(is_leftover).items():
            with suppress(OSError):
                if self._runs is not None and file.st_mtime < before.timestamp():
                    (self._runs / name).unlink()

    def _list(self, is_wanted: Callable[[str], bool]) -> dict[str, os.stat_result]:
        """Return the regular files in the folder that have such a name."""
        found = {}
        if self._runs is None or not self._runs.exists():
            return found
        with os.scandir(self._runs) as entries:
            for entry in entries:
                # Another program may delete it meanwhile.
                with suppress(FileNotFoundError):
                    if is_wanted(entry.name) and entry.is_file(follow_symlinks=False):
                        found[entry.name] = entry.stat(follow_symlinks=False)
        return found

    def check_writable(self) -> None:
        """Raise `LibraryError` if the library is read-only."""
        if self._runs is None or self._lock is None:
            return
        paths = self._runs.parent, self._runs, self._lock
        if not all(os.access(path, os.W_OK) for path in paths if path.exists()):
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
            if self._lock is None:
                yield
                return
            try:
                file = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError as error:
                raise self._error(error, "cannot be written") from error
            try:
                self._wait_for(file)
                text = os.read(file, 20)
                self._largest = max(int(text) if text.isdigit() else 0, *self.stamps(), 0)
                self._lock_file = file
                yield
            finally:
                os.close(file)

    def _wait_for(self, file: int) -> None:
        """Wait until this program holds the lock."""
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
                    raise self._error(error, "cannot be written") from error
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

    def write(self, contents: Mapping[str, bytes], action: str, *, durable: bool) -> None:
        """Write several files: all are complete before the first takes its place.

        If that fails, the library is as before, except for files that were already replaced: this
        takes a folder that becomes unwritable meanwhile. Call it while `writing`.

        Raises `LibraryError`, which names the `action`, if the disk is full or may not be written.
        If it is not `durable`, a crash of the machine may lose files.
        """
        if self._runs is None:
            self._held |= contents
            return
        parts: dict[str, Path] = {}
        added: list[str] = []
        try:
            for name, data in contents.items():
                self._runs.mkdir(exist_ok=True)
                parts[name] = write_part(data, self._runs / name, durable=durable)
            if not durable and hasattr(os, "sync"):
                os.sync()
            os.lseek(self._lock_file, 0, os.SEEK_SET)
            os.write(self._lock_file, str(self._largest).encode())
            for name, part in parts.items():
                if not os.path.lexists(self._runs / name):
                    added.append(name)
                os.replace(part, self._runs / name)
        except BaseException as error:
            for part in parts.values():
                part.unlink(missing_ok=True)
            for name in added:
                self.delete(name)
            if isinstance(error, OSError):
                raise self._error(error, f"could not {action}") from error
            raise

    def _error(self, error: OSError, problem: str) -> LibraryError:
        """Return a `LibraryError` for an error of the disk; `problem` says what failed."""
        why = os.strerror(error.errno) if error.errno else str(error)
        return LibraryError(
            f"The library {self.where} {problem}: {why}. Check that its disk has space and that "
            f"its folder is writable. {_FREEING}.",
            error.errno,
        )


def _is_name(name: Any) -> bool:
    """Return whether a value is the name of a model or a summary."""
    return isinstance(name, str) and bool(_MODEL.fullmatch(name) or _SUMMARY.fullmatch(name))
