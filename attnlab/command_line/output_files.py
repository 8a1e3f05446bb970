"""Files that commands write: checked before anything is computed, and written at the end."""

import sys
from pathlib import Path

from attnlab.configuration.options import OptionError
from attnlab.runs.whole_file import check_writable, save_bytes


def check_output(name: str, file: str) -> None:
    """Raise `OptionError` if the file that an option names cannot be written."""
    try:
        check_writable(Path(file))
    except OSError as error:
        raise _refused(name, file, error) from None


def write_output(name: str, file: str, data: bytes) -> bool:
    """Write the file that an option names, or print why that failed; return whether it worked."""
    try:
        save_bytes(data, Path(file))
    except OSError as error:
        print(f"attnlab: {_refused(name, file, error)}", file=sys.stderr)
        return False
    return True


def _refused(name: str, file: str, error: OSError) -> OptionError:
    return OptionError(name, file, error.strerror or str(error), "Name another file")
