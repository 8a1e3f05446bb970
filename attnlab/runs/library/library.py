"""The library of runs: stores results, finds them and lists them."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from platformdirs import user_data_path

from attnlab.configuration.environment import read_folder
from attnlab.configuration.options import present
from attnlab.configuration.records import check_registered
from attnlab.configuration.visible_text import visible
from attnlab.runs.history import current_versions
from attnlab.runs.library.archive import TakenIn, archive_of, read_archive
from attnlab.runs.library.files import Files, LibraryError
from attnlab.runs.library.query import Choices, Head, Query, choices_of, head_of, like, matching
from attnlab.runs.library.summary import (
    check_model,
    check_size,
    from_summary,
    header_of_model,
    moment,
    record_of,
    summary_in,
    texts_in,
    to_summary,
)
from attnlab.runs.run import Run
from attnlab.runs.run_summary import RunSummary
from attnlab.runs.storage import RunFileError, from_bytes, to_bytes
from attnlab.training.experiment import Experiment

BIN_DAYS = 30
# Far longer than writing a file and putting it into its place takes.
_LEFTOVER = timedelta(hours=1)
_MOST_CHARACTERS = 60
_Record = Mapping[str, Any]


class Problem(NamedTuple):
    """A run that cannot be read, and why."""

    number: int
    text: str


class Library:
    """Runs in a folder, or in memory if it is None. All methods are thread-safe.

    The results and curves of a run are in a file such as `runs/7.json`, and its model in
    `runs/7.run`. All programs of this machine that open the folder see its contents; on a drive
    shared by several machines, only one may write at a time. A library in a folder without write
    access is only read. A library that would exceed `most_bytes` saves no more runs; None sets no
    limit. A program waits at most `patience` seconds for another one that writes.

    Raises `LibraryError`, with the remedy, for a folder that cannot be created.

    >>> from attnlab import Experiment
    >>> library = Library(None)
    >>> refused = RunSummary(Experiment(seed=1), "refused", reason="too large")
    >>> library.keep(refused, tags=("first",))
    1
    >>> [(entry.number, entry.reason) for entry in library.entries(Query(tag="first"))]
    [(1, 'too large')]
    """

    def __init__(
        self,
        folder: Path | str | None,
        *,
        most_bytes: int | None = None,
        patience: float = 10.0,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ):
        self._clock, self._most_bytes = clock, most_bytes
        self._files = Files(None if folder is None else Path(folder), patience=patience)
        self._heads: dict[int, Head] = {}
        self._problems: dict[int, str] = {}
        # Skipped if the library is read-only, or another program writes to it.
        with suppress(LibraryError):
            self._files.check_writable()
            self._empty_bin(clock() - timedelta(days=BIN_DAYS))
            models = {head.file for head in self._read_heads() if head.file is not None}
            # A summary that cannot be read may name any model.
            needed = None if self._problems else models
            self._files.delete_leftovers(needed, before=clock() - _LEFTOVER)
        # Each is reported where it is listed.
        self._problems.clear()

    def keep(
        self,
        result: RunSummary,
        *,
        name: str = "",
        tags: Iterable[str] = (),
        number: int | None = None,
    ) -> int:
        """Save a result as a new run, or as the continuation of run `number`; return its number.

        A continued run keeps its name, tags and note, stays in the bin if it is there, and keeps
        its model if `result` has none. If it was deleted permanently, it becomes a new one. Saving
        the same experiment twice makes two runs.

        Raises:
            OptionError: If a class is not registered.
            LibraryError: If the disk or the library is full, or cannot be written. Nothing has
                changed.
        """
        check_registered(result.experiment)
        check_size(result)
        texts: dict[str, Any] = {"name": name, "tags": tuple(tags), "note": ""}
        model = changes = None
        if result.run is not None:
            check_model(result, result.run.experiment)
            model, changes = to_bytes(result.run), len(result.run.history.changes)
        with self._changing("save a run", limited=True) as contents:
            old = None if number is None else self._record(number)
            if number is None or old is None:
                old, number = {}, self._files.new_number()
            else:
                texts = texts_in(old)
            changes = old.get("changes", 0) if changes is None else changes
            run = dataclasses.replace(result, **texts, date=self._clock(), changes=changes)
            kept = {part: old.get(part) for part in ("file", "deleted")}
            new = _put(contents, number, record_of(run) | kept, model)
        if kept["file"] != new["file"]:
            self._files.delete(kept["file"])
        return number

    def find(
        self, experiment: Experiment, *, any_version: bool = False, diverged: bool = False
    ) -> RunSummary | None:
        """Return the newest run of this experiment that is done, with unchanged settings, or None.

        Runs whose settings changed on the way do not count. Nor do runs of other versions of
        attnlab, JAX or jaxlib, or of another platform: the same experiment may give other numbers
        there. `any_version` takes those too, and runs whose versions were not recorded. With
        `diverged` a run that diverged counts too, since it would diverge again.
        """
        heads = [
            head
            for head in self._read_heads()
            if head.state == "done" or (diverged and head.state == "failed")
            if head.seed == experiment.seed and not head.changes and head.deleted is None
        ]
        newest_first = sorted(heads, key=lambda head: (head.date or "", head.number), reverse=True)
        wanted = current_versions()
        for head in like(newest_first, experiment):
            entry = self.entry(head.number)
            # A class that is not registered may have the name of a registered one.
            if entry is None or entry.experiment != experiment:
                continue
            is_right = any_version or present(entry.versions).agree_with(wanted)
            if is_right and (entry.state == "done" or entry.diverged):
                return entry
        return None

    def equal_run(self, result: RunSummary) -> RunSummary | None:
        """Return the finished run that a result repeats, as `find` does, or None.

        Both have their models, and unchanged settings. The pages and `attnlab train` do not save
        such a result, so that the library keeps equal runs once.
        """
        if result.run is None or result.run.history.changes:
            return None
        found = self.find(result.experiment)
        return found if found is not None and found.has_model else None

    def entry(self, number: int) -> RunSummary | None:
        """Return the run of this number, in the bin or not; None if missing or damaged."""
        return self._entry(number, self._record(number))

    def age_of(self, entry: RunSummary) -> timedelta:
        """Return how long ago a run was last saved."""
        return self._clock() - entry.date

    def entries(
        self, query: Query = Query(), *, first: int = 0, most: int = 50
    ) -> tuple[RunSummary, ...]:
        """Return at most `most` matching runs in order, starting at number `first` (from 0).

        Runs that cannot be read are left out and added to the `problems`.
        """
        numbers = self.numbers(query)[first : first + most]
        return tuple(entry for number in numbers if (entry := self.entry(number)))

    def numbers(self, query: Query = Query()) -> list[int]:
        """Return the numbers of all matching runs in order, including unreadable ones."""
        return [head.number for head in matching(self._read_heads(), query)]

    def count(self, query: Query = Query()) -> int:
        """Return how many match, including those that cannot be read."""
        return len(self.numbers(query))

    def choices(self) -> Choices:
        """Return the values that runs can be filtered by."""
        return choices_of(self._read_heads())

    def problems(self) -> tuple[Problem, ...]:
        """Return the unreadable runs found so far."""
        return tuple(Problem(*pair) for pair in sorted(self._problems.copy().items()))

    def rebuild(self) -> int:
        """Read all files again; return how many runs there are, including the bin.

        Those that cannot be read are added to the `problems`.
        """
        self._heads = {}
        self._problems.clear()
        return sum(self.entry(head.number) is not None for head in self._read_heads())

    def describe(
        self,
        number: int,
        *,
        name: str | None = None,
        tags: Iterable[str] | None = None,
        note: str | None = None,
    ) -> None:
        """Change the user's texts of a run; None leaves them. Does nothing if the run is gone."""
        given = {"name": name, "tags": None if tags is None else tuple(tags), "note": note}
        changed = {part: value for part, value in given.items() if value is not None}
        with self._changing(f"change the {' and '.join(changed)} of a run") as contents:
            record = self._record(number)
            run = self._entry(number, record)
            if record is not None and run is not None:
                run = dataclasses.replace(run, **changed)
                texts = {"name": run.name, "tags": "\n".join(run.tags), "note": run.note}
                _put(contents, number, {**record, **texts})

    def delete(self, numbers: Iterable[int], *, for_good: bool = False) -> None:
        """Put runs into the bin. After `BIN_DAYS` days the next opening deletes them.

        A run whose file cannot be read is deleted permanently. With `for_good` all runs are, which
        needs no space on the disk.
        """
        if for_good:
            with self._files.writing():
                for number in numbers:
                    self._remove(number)
        else:
            self._move(numbers, "delete a run", moment(self._clock()))

    def restore(self, numbers: Iterable[int]) -> None:
        """Take runs out of the bin."""
        self._move(numbers, "restore a run", None)

    def empty_bin(self) -> None:
        """Delete everything in the bin permanently."""
        self._files.check_writable()
        self._empty_bin(self._clock())

    def run_of(self, number: int) -> Run | None:
        """Return the run with its model, which can be continued; None if no model is kept.

        Raises `RunFileError` for a file that is missing or damaged.
        """
        record = self._record(number)
        if record is None or record.get("file") is None:
            return None
        try:
            return from_bytes(self._model_of(record))
        except RunFileError as error:
            raise RunFileError(
                f"The model of run {number} cannot be opened, but its results and curves can. "
                f"{error.problem}",
                "Train it again.",
            ) from error

    def export(self, numbers: Iterable[int], *, models: bool = True) -> bytes:
        """Return these runs in one file, which `take_in` reads, with or without their models.

        Missing or unreadable runs are left out; a run whose model is missing or damaged is exported
        without it. Both are recorded in `problems`. Raises an error for more than `MOST_RUNS` or
        `MOST_ARCHIVE_BYTES`.
        """
        return archive_of(self._read_for_export(numbers, models=models))

    def _read_for_export(
        self, numbers: Iterable[int], *, models: bool
    ) -> Iterator[tuple[_Record, bytes | None]]:
        for number in numbers:
            record, model = self._record(number), None
            entry = self._entry(number, record)
            if record is None or entry is None:
                continue
            if models and entry.has_model:
                try:
                    model = self._model_of(record)
                    header_of_model(entry, model)
                except RunFileError as error:
                    model = None
                    problem = f"Run {number} is exported without its model. {error.problem}"
                    self._problems[number] = problem
            yield record_of(dataclasses.replace(entry, deleted=None)), model

    def take_in(self, data: bytes) -> TakenIn:
        """Add the runs of a file that `export` made. Those in the bin here are restored.

        A run with the same date and the same results is the same run, and gets the model that it
        lacked. Raises `ArchiveError` for bytes that are not such a file, or damaged or cut off, and
        `LibraryError` as `keep` does. Nothing has changed then.
        """
        found = list(read_archive(data))
        runs = [run for run in found if not isinstance(run, str)]
        added, written = [], {}
        with self._changing("import runs", durable=False, limited=True) as contents:
            known = {_marks(head): head.number for head in self._read_heads()}
            for entry, model in runs:
                record = record_of(entry)
                marks = _marks(head_of(0, "", record))
                number = known.get(marks)
                there = written.get(number) or (number and self._record(number))
                if number is None or not there:
                    number = known[marks] = self._files.new_number()
                elif there.get("deleted") or (model is not None and there.get("file") is None):
                    model = model if there.get("file") is None else None
                    record = {**there, "deleted": None}
                else:
                    continue
                written[number] = _put(contents, number, record, model)
                added.append(number)
        refused = tuple(run for run in found if isinstance(run, str))
        return TakenIn(tuple(added), len(runs) - len(added), refused)

    def size(self) -> int:
        """Return its size in bytes, on disk or in memory, including the bin."""
        return self._files.size()

    def _read_heads(self) -> list[Head]:
        """Return the heads of all summaries, of which only changed files are read."""
        known, heads = self._heads, {}
        for number, stamp in self._files.stamps().items():
            head = known.get(number)
            if head is None or head.stamp != stamp:
                head = head_of(number, stamp, self._record(number) or {})
            heads[number] = head
        self._heads = heads
        return list(heads.values())

    def _record(self, number: int) -> dict[str, Any] | None:
        """Return the summary of a run; None if it is missing or, with a problem, damaged."""
        try:
            return from_summary(self._files.read(f"{number}.json"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            return self._add_problem(number, error)

    def _entry(self, number: int, record: _Record | None) -> RunSummary | None:
        if record is None:
            return None
        try:
            entry = summary_in(record, number)
        except ValueError as error:
            return self._add_problem(number, error)
        self._problems.pop(number, None)
        return entry

    def _add_problem(self, number: int, error: Exception) -> None:
        why = f"{error.strerror}." if isinstance(error, OSError) else error
        self._problems[number] = (
            f"Run {number} cannot be read. {why} Its file {number}.json is damaged, or of "
            "another version of attnlab. Update attnlab, or delete it."
        )

    def _model_of(self, record: _Record) -> bytes:
        """Return the bytes of a run's model; raise `RunFileError` if it is missing."""
        try:
            return self._files.read(record["file"])
        except OSError as error:
            is_missing = isinstance(error, FileNotFoundError)
            file = visible(str(record["file"])[:_MOST_CHARACTERS])
            problem = "is missing" if is_missing else "is not a regular file"
            raise RunFileError(f"Its file {file} {problem}.") from error

    @contextmanager
    def _changing(
        self, action: str, *, durable: bool = True, limited: bool = False
    ) -> Iterator[dict[str, bytes]]:
        """Yield a table for new contents of files, all or none of which are written at its end.

        Raises `LibraryError`, which names the `action`, if they cannot be written, or this is
        `limited` and they exceed `most_bytes`.
        """
        with self._files.writing():
            contents: dict[str, bytes] = {}
            yield contents
            most = self._most_bytes if limited else None
            if most is not None and self.size() + sum(map(len, contents.values())) > most:
                raise LibraryError(
                    f"The library {self._files.where} is full: its limit is {most / 1e6:,.0f} MB. "
                    "Delete runs and empty the bin."
                )
            self._files.write(contents, action, durable=durable)

    def _move(self, numbers: Iterable[int], action: str, deleted: str | None) -> None:
        """Move runs into the bin or, if `deleted` is None, out of it."""
        with self._changing(action) as contents:
            for number in numbers:
                if (record := self._record(number)) is not None:
                    _put(contents, number, record | {"deleted": deleted})
                elif deleted:
                    self._remove(number)
                self._problems.pop(number, None)

    def _remove(self, number: int) -> None:
        """Delete a run permanently. Its summary goes last, since it names the model."""
        record = self._record(number) or {}
        for name in (record.get("file"), f"{number}.json"):
            self._files.delete(name)
        self._problems.pop(number, None)

    def _empty_bin(self, by: datetime) -> None:
        """Permanently delete every run that was in the bin at the time `by`."""

        def gone() -> list[int]:
            heads = self._read_heads()
            return [head.number for head in heads if head.deleted and head.deleted <= moment(by)]

        if gone():
            with self._files.writing():
                for number in gone():
                    self._remove(number)


def _put(
    contents: dict[str, bytes], number: int, record: _Record, model: bytes | None = None
) -> _Record:
    """Add the files of a run, with its model if there is a new one; return its record."""
    if model is not None:
        record = {**record, "file": f"{number}.run"}
        contents[record["file"]] = model
    contents[f"{number}.json"] = to_summary(record)
    return record


def _marks(head: Head) -> tuple[Any, ...]:
    """Return the values that are equal for two imports of the same run."""
    return head.date, head.seed, head.state, head.steps, head.seconds


SWITCH = "ATTNLAB_LIBRARY"


def library_folder(environment: Mapping[str, str]) -> Path | None:
    """Return the folder in `ATTNLAB_LIBRARY`, or the user's default one; None if it is off.

    Raises:
        OptionError: If the name begins with `~` and a user that does not exist.

    >>> print(library_folder({"ATTNLAB_LIBRARY": "off"}))
    None
    >>> library_folder({"ATTNLAB_LIBRARY": "runs of May"}).name
    'runs of May'
    """
    return read_folder(SWITCH, user_data_path("attnlab") / "library", environment)


def default_library() -> Library:
    """Return the user's library, opened; if it is off, one in memory for this process."""
    return Library(library_folder(os.environ))
