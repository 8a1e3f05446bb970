"""The files of a library: of each run a summary, `7.json`, and perhaps its model, `7.run`."""

import errno
import os
import re
from collections.abc import Callable, Set
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from attnlab.configuration.options import present
from attnlab.runs.library.database import FREEING, LibraryError
from attnlab.runs.library.summary import MOST_SUMMARY_BYTES
from attnlab.runs.storage import MOST_FILE_BYTES, is_run_file
from attnlab.runs.whole_file import read_bytes, write_part

SUMMARY = re.compile(r"([1-9][0-9]{0,15})\.json")
# Earlier versions named models by 32 hexadecimal digits.
MODEL = re.compile(r"[0-9a-f]{1,32}\.run")


class Files:
    """Files by name, in a folder or in memory if it is None.

    The folder is created with its first file. `where` is for errors.
    """

    def __init__(self, folder: Path | None, *, where: str):
        self.folder, self.where = folder, where
        self.held: dict[str, bytes] = {}

    def read(self, name: Any) -> bytes:
        """Return the contents, or the first bytes of a file that is of another kind.

        Raises `OSError` if it is missing, too large or not a regular file.
        """
        # A summary that another program wrote may name anything.
        is_model = isinstance(name, str) and MODEL.fullmatch(name)
        if not is_model and not (isinstance(name, str) and SUMMARY.fullmatch(name)):
            raise FileNotFoundError(errno.ENOENT, "not the name of a library file", str(name))
        if name in self.held or self.folder is None:
            if name not in self.held:
                raise FileNotFoundError(errno.ENOENT, "it is missing", name)
            return self.held[name]
        is_right = is_run_file if is_model else (lambda head: head.startswith(b"{"))
        most = MOST_FILE_BYTES if is_model else MOST_SUMMARY_BYTES
        return read_bytes(self.folder / name, is_right=is_right, most=most, follow=False)

    def exists(self, name: str) -> bool:
        """Return whether a file of this name exists."""
        return name in self.held or (self.folder is not None and os.path.lexists(self._path(name)))

    def stamps(self) -> dict[int, str]:
        """Return the stamp of each summary by the number of its run; see `stamp_of`."""
        found = {name: str(len(data)) for name, data in self.held.items()}
        files = self._found(lambda name: name.endswith(".json"))
        found |= {name: stamp_of(file) for name, file in files.items()}
        matches = ((SUMMARY.fullmatch(name), stamp) for name, stamp in found.items())
        return {int(match.group(1)): stamp for match, stamp in matches if match}

    def size(self) -> int:
        """Return the size of all files in bytes."""
        files = sum(file.st_size for file in self._found(lambda name: True).values())
        return files + sum(map(len, self.held.values()))

    def delete(self, name: Any) -> None:
        """Delete a file, if it exists and has the name of a model or a summary."""
        if isinstance(name, str) and (MODEL.fullmatch(name) or SUMMARY.fullmatch(name)):
            self.held.pop(name, None)
            # On some systems a file that another program has open cannot be deleted, and stays.
            with suppress(OSError):
                if self.folder is not None:
                    self._path(name).unlink(missing_ok=True)

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
                    self._path(name).unlink()

    def _path(self, name: str) -> Path:
        return present(self.folder) / name

    def _found(self, is_wanted: Callable[[str], bool]) -> dict[str, os.stat_result]:
        """Return the regular files in the folder that have such a name."""
        found = {}
        if self.folder is None or not self.folder.exists():
            return found
        with os.scandir(self.folder) as entries:
            for entry in entries:
                # Another program may delete it meanwhile.
                with suppress(FileNotFoundError):
                    if is_wanted(entry.name) and entry.is_file(follow_symlinks=False):
                        found[entry.name] = entry.stat(follow_symlinks=False)
        return found


class FileChanges:
    """New contents of several files: all are written before the first takes its place.

    Raises `LibraryError`, which names the `action`, if the disk is full or may not be written.
    Without `durable` a crash of the machine within `apply` may lose files.
    """

    def __init__(self, files: Files, action: str, *, durable: bool):
        self._files, self._action, self._durable = files, action, durable
        self._contents: dict[str, bytes] = {}
        self._parts: dict[str, Path] = {}
        self._added: list[str] = []

    def write(self, name: str, data: bytes) -> str:
        """Write a file beside its place; return the stamp that it will have."""
        folder = self._files.folder
        if folder is None:
            self._contents[name] = data
            return str(len(data))
        try:
            folder.mkdir(exist_ok=True)
            self._parts[name] = write_part(data, folder / name, durable=self._durable)
            return stamp_of(self._parts[name].stat())
        except OSError as error:
            raise self._error(error) from error

    def apply(self) -> None:
        """Put all files into their places."""
        self._files.held |= self._contents
        if self._parts and not self._durable and hasattr(os, "sync"):
            os.sync()
        for name, part in self._parts.items():
            if not self._files.exists(name):
                self._added.append(name)
            try:
                os.replace(part, present(self._files.folder) / name)
            except OSError as error:
                raise self._error(error) from error

    def undo(self) -> None:
        """Delete the files that are not in their places yet, and those that did not exist before.

        Existing files that were already replaced keep their new contents. This takes a folder or an
        index that becomes unwritable after all files were written.
        """
        for part in self._parts.values():
            part.unlink(missing_ok=True)
        for name in self._added:
            self._files.delete(name)

    def _error(self, error: OSError) -> LibraryError:
        why = os.strerror(error.errno) if error.errno else str(error)
        return LibraryError(
            f"The library {self._files.where} could not {self._action}: {why}. "
            f"Check that its disk has space and that its folder is writable. {FREEING}.",
            error.errno,
        )


def stamp_of(found: os.stat_result) -> str:
    """Return a text that changes whenever the file changes."""
    return f"{found.st_mtime_ns} {found.st_size}"
