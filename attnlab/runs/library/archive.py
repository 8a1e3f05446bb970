"""A selection of runs in one file: a checksum, then for each run a line of JSON and its run file.

The file begins with `attnlab runs 1` and a line with the SHA-256 of everything after it. The line
of a run has its results and versions, its tables as in a library and in base 64, the user's texts,
and the number of bytes of the run file after the line. There are no file names, and only the
tables, whose size is known, are compressed.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from attnlab.configuration.options import AttnlabError, OptionError
from attnlab.runs.library.summary import Description, Entry, entry_of, header_of_model, row_of
from attnlab.runs.run_file_header import RunFileError

BEGINS = b"attnlab runs "
_MAGIC = BEGINS + b"1\n"
_CHECKSUM_BYTES = len(f"{hashlib.sha256().hexdigest()}\n")
_COLUMNS = (
    "experiment", "state", "reason", "steps", "seconds", "parameters", "nll", "nll_stderr",
    "accuracy", "accuracy_stderr", "changes", "attnlab", "jax", "date", "name", "tags", "note",
)  # fmt: skip
_TABLES = ("tests", "curve")
# Newer columns: a file may lack them.
_LATER = MappingProxyType(
    {"exact_match": None, "jaxlib": "", "platform": "", "excess": None, "excess_stderr": None}
)
# The longest note and the longest tables take half of it.
_MOST_LINE_BYTES = 1_000_000
MOST_RUNS = 100_000
MOST_BYTES = 8_000_000_000


class ArchiveError(AttnlabError, ValueError):
    """Bytes that are not a whole file of exported runs. States the problem and the remedy."""

    def __init__(self, problem: str):
        super().__init__(f"{problem} Choose a file that a library of attnlab exported.")


class ArchivedRun(NamedTuple):
    """A run read from a file: its row, the user's texts, the bytes of its model."""

    row: dict[str, Any]
    words: Description
    model: bytes | None


class TakenIn(NamedTuple):
    """The result of importing a file.

    The numbers of the new runs, how many existed already, and a sentence for each run, or model of
    a run, that was left out.
    """

    added: tuple[int, ...]
    known: int
    refused: tuple[str, ...]


def archive_of(runs: Iterable[tuple[Mapping[str, Any], bytes | None]]) -> bytes:
    """Return the file of these rows, each with or without the bytes of its model.

    Raises an error for more than `MOST_RUNS` or `MOST_BYTES`, which `read_archive` rejects.
    """
    parts, room = [], MOST_BYTES
    remedy = "Export them in several files"
    for place, (row, model) in enumerate(runs, start=1):
        if place > MOST_RUNS:
            raise OptionError("numbers", place, f"more than {MOST_RUNS:,} runs", remedy)
        room -= 0 if model is None else len(model)
        if room < 0:
            raise OptionError("numbers", place, f"more than {MOST_BYTES:,} bytes", remedy)
        record = {name: row[name] for name in _COLUMNS}
        record |= {name: row.get(name, usual) for name, usual in _LATER.items()}
        record |= {name: base64.b64encode(row[name]).decode() for name in _TABLES}
        record["model_bytes"] = None if model is None else len(model)
        parts += [json.dumps(record).encode(), b"\n", model or b""]
    rest = b"".join(parts)
    return _MAGIC + _checksum(rest) + rest


def read_archive(data: bytes) -> Iterator[ArchivedRun | str]:
    """Yield the runs of such a file one at a time, or why a run is rejected.

    Raises `ArchiveError` for a file that is of another kind, damaged or cut off, or has more than
    `MOST_RUNS` runs.
    """
    start = len(_MAGIC) + _CHECKSUM_BYTES
    if not data.startswith(_MAGIC):
        raise ArchiveError("This is not a file of runs of attnlab.")
    if data[len(_MAGIC) : start] != _checksum(memoryview(data)[start:]):
        raise ArchiveError("This file of runs is damaged or cut off.")
    place = 0
    while start < len(data):
        place += 1
        if place > MOST_RUNS:
            raise ArchiveError(f"This file has more than {MOST_RUNS:,} runs.")
        end = data.find(b"\n", start, start + _MOST_LINE_BYTES + 1)
        if end < 0:
            raise ArchiveError(f"The line of run {place} of this file is cut off or too long.")
        record = _record(data[start:end], place)
        size = record.get("model_bytes")
        if size is not None and (type(size) is not int or not 0 <= size <= len(data) - end - 1):
            raise ArchiveError(f"The model of run {place} of this file is cut off.")
        start = end + 1 + (size or 0)
        try:
            entry = _entry(record)
        except (KeyError, TypeError, ValueError) as error:
            why = str(error) if isinstance(error, ValueError) else "It lacks a part."
            yield f"Run {place} of this file was left out. {why}"
            continue
        model, changes = None if size is None else data[end + 1 : start], entry.changes
        if model is not None:
            try:
                changes = max(changes, len(header_of_model(entry.result, model).changes))
            except RunFileError as error:
                model = None
                yield f"The model of run {place} of this file was left out. {error.problem}"
        row = row_of(entry.result, entry.date) | {"changes": changes}
        yield ArchivedRun(row, Description(entry.name, entry.tags, entry.note), model)


def _entry(record: Mapping[str, Any]) -> Entry:
    """Return the run of a line, without its model; raise an error for invalid values.

    Its row is made again, with columns derived from the experiment, and tables are compressed here.
    """
    tables = {name: base64.b64decode(record[name], validate=True) for name in _TABLES}
    given = {**_LATER, **record, **tables, "number": 0, "file": None, "deleted": None}
    return entry_of({name: record[name] for name in _COLUMNS} | given)


def _record(line: bytes, place: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise ArchiveError(f"The line of run {place} of this file is not that of a run.")
    return record


def _checksum(data: bytes | memoryview) -> bytes:
    return f"{hashlib.sha256(data).hexdigest()}\n".encode()
