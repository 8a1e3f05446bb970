"""Results of commands: as JSON on standard output, and as files."""

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.configuration.options import OptionError
from attnlab.runs.whole_file import check_writable, save_bytes

# Where `attnlab app` runs.
ADDRESS = "http://localhost:8501"


def print_json(record: Mapping[str, Any], *, indent: int | None = None) -> None:
    """Print a record of numbers, texts, lists and arrays as one JSON object.

    Named tuples become objects. Infinite numbers and NaN, which JSON does not have, become null.
    """
    print(json.dumps(_finite(record), indent=indent, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        plain = value.tolist()
        return plain if np.issubdtype(value.dtype, np.integer) else _finite(plain)
    value = value._asdict() if hasattr(value, "_asdict") else value
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_output(name: str, file: str) -> None:
    """Raise `OptionError` if the file that an option names cannot be written."""
    try:
        check_writable(Path(file))
    except OSError as error:
        raise file_error(name, file, error) from None


def write_output(name: str, file: str, data: bytes) -> bool:
    """Write the file that an option names, or print why that failed; return whether it worked."""
    try:
        save_bytes(data, Path(file))
    except OSError as error:
        print(f"attnlab: {file_error(name, file, error)}", file=sys.stderr)
        return False
    return True


def file_error(name: str, file: str, error: OSError) -> OptionError:
    """Return the error of an option whose file cannot be read or written."""
    return OptionError(name, file, error.strerror or str(error), "Name another file")
