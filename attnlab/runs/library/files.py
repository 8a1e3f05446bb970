"""Where a library has the models of its runs: in a folder or in memory."""

import abc
import errno
import re
import secrets
from collections.abc import Set
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from attnlab.runs.storage import MOST_FILE_BYTES, is_run_file
from attnlab.runs.whole_file import read_bytes, save_bytes

_END = ".run"
_NAME = re.compile(rf"[0-9a-f]+{re.escape(_END)}")


class AbstractFiles(abc.ABC):
    """Run files by names that nobody chooses."""

    @abc.abstractmethod
    def write(self, data: bytes) -> str:
        """Keep it, whole or not at all; its new name. Refused, with an `OSError`: a full disk."""

    @abc.abstractmethod
    def read(self, name: str) -> bytes:
        """What is kept under a name. Refused, with an `OSError`: one that is missing."""

    @abc.abstractmethod
    def delete(self, name: str) -> None:
        """Forget it, if it is there."""

    @abc.abstractmethod
    def delete_others(self, names: Set[str], *, before: datetime) -> None:
        """Forget what has none of these names and was written before that."""


class FolderFiles(AbstractFiles):
    """Files in a folder, which is made with the first of them."""

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
        # What another program has open cannot be deleted on some systems, and stays.
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
    """Bytes by their names."""

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
        """Nothing is left over in memory."""
