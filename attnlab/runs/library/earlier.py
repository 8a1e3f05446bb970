"""Libraries and files of runs of earlier versions of attnlab, which are read and converted.

A library was a database, `library.sqlite`. A file of runs begins with `attnlab runs 1` and a line
with the SHA-256 of everything after it. The line of a run is its summary, with the number of bytes
of the run file after the line, `model_bytes`.
"""

import base64
import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attnlab.configuration.options import AttnlabError
from attnlab.runs.library.database import explained, library_error, version_of
from attnlab.runs.library.summary import COLUMNS, LATER, MOST_SUMMARY_BYTES, TABLES

ARCHIVE_BEGINS = b"attnlab runs 1\n"
MOST_RUNS = 100_000
_CHECKSUM_BYTES = len(f"{hashlib.sha256().hexdigest()}\n")
# The version of a database whose runs have become files. Earlier versions of attnlab refuse it.
_CONVERTED = 6


class ArchiveError(AttnlabError, ValueError):
    """Bytes that are not a whole file of exported runs. States the problem and the remedy."""

    def __init__(self, problem: str):
        super().__init__(f"{problem} Choose a file that a library of attnlab exported.")


def runs_of_archive(data: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield the summary and the model of each run in a file of runs.

    Raises `ArchiveError` if it is damaged or cut off, or has more than `MOST_RUNS` runs.
    """
    start, place = len(ARCHIVE_BEGINS) + _CHECKSUM_BYTES, 0
    checksum = f"{hashlib.sha256(memoryview(data)[start:]).hexdigest()}\n"
    if data[len(ARCHIVE_BEGINS) : start] != checksum.encode():
        raise ArchiveError("This file of runs is damaged or cut off.")
    while start < len(data):
        place += 1
        if place > MOST_RUNS:
            raise ArchiveError(f"This file has more than {MOST_RUNS:,} runs.")
        end = data.find(b"\n", start, start + MOST_SUMMARY_BYTES + 1)
        if end < 0:
            raise ArchiveError(f"The line of run {place} of this file is cut off or too long.")
        try:
            size = json.loads(data[start:end]).get("model_bytes")
        except (ValueError, AttributeError, RecursionError):
            problem = f"The line of run {place} of this file is not that of a run."
            raise ArchiveError(problem) from None
        if size is not None and (type(size) is not int or not 0 <= size <= len(data) - end - 1):
            raise ArchiveError(f"The model of run {place} of this file is cut off.")
        line, start = data[start:end], end + 1 + (size or 0)
        yield line, None if size is None else data[end + 1 : start]


_ROWS = """
    SELECT runs.*, details.experiment, details.tests, details.curve,
    (SELECT group_concat(tag, char(10)) FROM tags WHERE tags.number = runs.number) AS tags
    FROM runs LEFT JOIN details USING (number) ORDER BY number
"""


@contextmanager
def rows_to_convert(
    path: Path, where: str, *, writable: bool, patience: float
) -> Iterator[Iterator[tuple[int, dict[str, Any]]]]:
    """Yield the numbers and summaries in the database of an earlier version, if it is there.

    If the block ends without an error, the database counts as converted. It keeps its rows.
    """
    if not path.exists() and not path.is_symlink():
        yield iter(())
        return
    if not path.is_file():
        # SQLite would wait for the other end of a FIFO.
        raise library_error(where, sqlite3.SQLITE_NOTADB)
    ahead = path.with_name(f"{path.name}-wal")
    has_log = ahead.exists() and ahead.stat().st_size
    # Otherwise SQLite creates files in the same folder. It ignores the write-ahead log then, which
    # exists while another program writes or after a crash.
    mode = "mode=rw" if writable else "mode=ro" if has_log else "immutable=1"
    address = f"{path.absolute().as_uri()}?{mode}"
    with (
        explained(where),
        contextlib.closing(
            sqlite3.connect(address, uri=True, timeout=patience, isolation_level=None)
        ) as connection,
    ):
        if is_new := 0 < version_of(connection, where, newest=_CONVERTED) < _CONVERTED:
            connection.execute("BEGIN IMMEDIATE" if writable else "BEGIN")
            # Another program may have been faster.
            is_new = version_of(connection, where, newest=_CONVERTED) < _CONVERTED
        # Otherwise one damaged text would keep all runs from being read.
        connection.text_factory = lambda data: data.decode(errors="replace")
        connection.row_factory = sqlite3.Row
        rows = connection.execute(_ROWS) if is_new else ()
        yield ((row["number"], _record(dict(row))) for row in rows)
        if is_new and writable:
            # A program of an earlier version that still runs gets an error.
            connection.execute("ALTER TABLE runs RENAME TO converted_runs")
            connection.execute(f"PRAGMA user_version = {_CONVERTED}")
            connection.execute("COMMIT")


def _record(row: Mapping[str, Any]) -> dict[str, Any]:
    named = (*COLUMNS, *LATER, "file", "deleted")
    # The oldest versions had no changes.
    record = {"changes": 0} | {name: row[name] for name in named if name in row}
    for name in TABLES:
        is_table = isinstance(row[name], bytes)
        record[name] = base64.b64encode(row[name]).decode() if is_table else row[name]
    return record | {"tags": record["tags"] or ""}
