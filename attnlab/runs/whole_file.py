"""Regular files, read and written whole."""

import errno
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

_HEAD = 64
_NOT_REGULAR = "it is not a regular file"


def read_bytes(
    path: Path, *, is_right: Callable[[bytes], bool], most: int, follow: bool = True
) -> bytes:
    """Return the contents of the file, or only its first bytes if `is_right` rejects those.

    If `follow` is False, a symbolic link is refused like any file that is not regular.

    Raises:
        OSError: If this is not a regular file or has more than `most` bytes; then nothing is read.
    """
    # A FIFO is opened without waiting for a writer. Not all systems have these flags.
    flags = getattr(os, "O_NONBLOCK", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    with open(path, "rb", opener=lambda name, usual: os.open(name, usual | flags)) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, _NOT_REGULAR, str(path))
        if found.st_size > most:
            raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
        head = file.read(_HEAD)
        if not is_right(head):
            return head
        file.seek(0)
        return file.read(found.st_size)


def target_of(path: Path) -> Path:
    """Return the file that writing to `path` replaces, following all symbolic links.

    Raises `OSError` if `path` names something other than a regular file, such as a device, or a
    file without write access, or if a folder is missing.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(errno.EINVAL, _NOT_REGULAR, str(path))
        if not os.access(path, os.W_OK):
            # Only some systems let a rename replace it.
            raise PermissionError(errno.EACCES, "it is read-only", str(path))
    except FileNotFoundError:
        # The file is new, or a link to a new file.
        target = Path(os.path.realpath(path))
        os.stat(target.parent)
        return target
    return Path(os.path.realpath(path))


def check_writable(path: Path) -> None:
    """Raise `OSError` if `save_bytes` cannot write this file, except for want of space."""
    write_part(b"", target_of(path), durable=False).unlink()


def save_bytes(data: bytes, path: Path) -> None:
    """Write a file atomically: if anything fails, the file is as it was before.

    A symbolic link stays, and its target is written. A full disk, a folder without write access, a
    target that `target_of` rejects and similar problems raise an `OSError` that names the file. If
    the process is killed meanwhile, the old file stays, with a part of the new one under a name
    that ends in `.part`.
    """
    part = None
    try:
        target = target_of(path)
        part = write_part(data, target)
        os.replace(part, target)
    except OSError as error:
        problem = f"nothing was saved, and the file is as it was: {error.strerror or error}"
        raise OSError(error.errno, problem, str(path)) from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def write_part(data: bytes, target: Path, *, durable: bool = True) -> Path:
    """Write a file beside `target`, to replace it; return its path. If that fails, delete it.

    A file that is not `durable` may be lost if the machine crashes soon after.
    """
    # Not by `tempfile`: other users could not read its files even after renaming.
    part = target.with_name(f"{target.name}.{secrets.token_hex(8)}.part")
    try:
        with open(part, "xb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return part
