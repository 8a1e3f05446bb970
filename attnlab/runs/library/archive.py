"""A selection of runs in one file: a zip of their summaries, `1.json`, and models, `1.run`.

Nothing in it is compressed but the tables of a summary, whose size is known.
"""

import dataclasses
import io
import re
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from attnlab.configuration.options import AttnlabError, OptionError, present
from attnlab.runs.library.summary import (
    MOST_SUMMARY_BYTES,
    from_summary,
    header_of_model,
    summary_in,
    to_summary,
)
from attnlab.runs.run_summary import RunSummary
from attnlab.runs.storage import RunFileError

MOST_RUNS = 100_000
MOST_ARCHIVE_BYTES = 8_000_000_000
_BEGINS, _OLD = b"PK", b"attnlab runs 1\n"
_ENTRY_BEGINS = b"PK\1\2"
_THE_MODEL = "The model"
_HEADER_BYTES = 30
_NAME = re.compile(r"([1-9][0-9]{0,15})\.(json|run)")


class ArchiveError(AttnlabError, ValueError):
    """Bytes that are not a whole file of exported runs. States the problem and the remedy."""

    def __init__(
        self, problem: str, remedy: str = "Choose a file that a library of attnlab exported."
    ):
        super().__init__(f"{problem} {remedy}")


class TakenIn(NamedTuple):
    """The result of importing a file.

    The numbers of the new runs, how many existed already, and a sentence for each run, or model of
    a run, that was left out.
    """

    added: tuple[int, ...]
    known: int
    refused: tuple[str, ...]

    @property
    def left_out(self) -> list[str]:
        """What was left out, such as ["2 runs left out", "1 model left out"]."""
        models = sum(text.startswith(_THE_MODEL) for text in self.refused)
        counts = (len(self.refused) - models, "run"), (models, "model")
        return [f"{count:,} {what}{'s' * (count > 1)} left out" for count, what in counts if count]


def is_archive(beginning: bytes) -> bool:
    """Return whether a file that starts with these bytes may contain exported runs."""
    return beginning.startswith((_BEGINS, _OLD))


def archive_of(runs: Iterable[tuple[Mapping[str, Any], bytes | None]]) -> bytes:
    """Return the file of these summaries, each with or without the bytes of its model.

    Raises an error for more than `MOST_RUNS` or `MOST_ARCHIVE_BYTES`, which `read_archive` rejects.
    """
    data, room = io.BytesIO(), MOST_ARCHIVE_BYTES
    remedy = "Export them in several files"
    with zipfile.ZipFile(data, "w") as file:
        for place, (record, model) in enumerate(runs, start=1):
            if place > MOST_RUNS:
                raise OptionError("numbers", place, f"more than {MOST_RUNS:,} runs", remedy)
            room -= len(model or b"")
            if room < 0:
                raise OptionError(
                    "numbers", place, f"more than {MOST_ARCHIVE_BYTES:,} bytes", remedy
                )
            # With a fixed date: the same runs are the same bytes.
            file.writestr(zipfile.ZipInfo(f"{place}.json"), to_summary(record))
            if model is not None:
                file.writestr(zipfile.ZipInfo(f"{place}.run"), model)
    return data.getvalue()


def read_archive(data: bytes) -> Iterator[tuple[RunSummary, bytes | None] | str]:
    """Yield each run of such a file, with the bytes of its model, or why it is rejected.

    Raises `ArchiveError` for a file that is of another kind, damaged or cut off, or has more than
    `MOST_RUNS` runs.
    """
    if data.startswith(_OLD):
        problem = "This file of runs is older than the first release of attnlab."
        raise ArchiveError(problem, "Train the runs again.")
    if not data.startswith(_BEGINS):
        raise ArchiveError("This is not an attnlab file of runs.")
    for place, (text, model) in enumerate(_runs_of_zip(data), start=1):
        try:
            run = summary_in(from_summary(text) | {"deleted": None, "file": None}, 0)
        except ValueError as error:
            yield f"Run {place} of this file was left out. {error}"
            continue
        if model is not None:
            try:
                changes = len(header_of_model(run, model).changes)
                run = dataclasses.replace(run, changes=max(run.changes, changes))
            except RunFileError as error:
                model = None
                yield f"{_THE_MODEL} of run {place} of this file was left out. {error.problem}"
        yield run, model


def _runs_of_zip(data: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    # Before `zipfile` makes an object for each entry.
    if data.count(_ENTRY_BEGINS) > 2 * MOST_RUNS:
        raise ArchiveError(f"This file has more than {MOST_RUNS:,} runs.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            entries = file.infolist()
            names = [_NAME.fullmatch(entry.filename) for entry in entries]
            if not all(names):
                raise ArchiveError("This is not an attnlab file of runs.")
            # Each part begins where the one before ends: none is left out or read several times.
            starts = [entry.header_offset for entry in entries] + [file.start_dir]
            ends = [entry.header_offset + _HEADER_BYTES + len(entry.filename) + entry.file_size
                    for entry in entries]  # fmt: skip
            found = {entry.filename: entry for entry in entries}
            is_plain = len(found) == len(entries) and not any(e.compress_type for e in entries)
            if [0, *ends] != starts or not is_plain:
                raise zipfile.BadZipFile
            numbers = sorted({int(present(name).group(1)) for name in names})
            if len(numbers) > MOST_RUNS:
                raise ArchiveError(f"This file has more than {MOST_RUNS:,} runs.")
            for place, number in enumerate(numbers, start=1):
                if found[f"{number}.json"].file_size > MOST_SUMMARY_BYTES:
                    raise ArchiveError(f"The summary of run {place} of this file is too long.")
                model = found.get(f"{number}.run")
                yield file.read(f"{number}.json"), None if model is None else file.read(model)
    except (
        zipfile.BadZipFile, EOFError, KeyError, NotImplementedError, OverflowError, RuntimeError,
        UnicodeError, struct.error,
    ) as error:  # fmt: skip
        raise ArchiveError("This file of runs is damaged or cut off.") from error
