"""The library of runs: stores results, finds them and lists them."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from platformdirs import user_data_path

from attnlab.configuration.environment import read_folder
from attnlab.configuration.options import present
from attnlab.configuration.records import check_registered
from attnlab.runs.history import current_versions
from attnlab.runs.library import table
from attnlab.runs.library.archive import TakenIn, archive_of, read_archive
from attnlab.runs.library.store import Store
from attnlab.runs.library.summary import (
    check_model,
    check_size,
    header_of_model,
    moment,
    record_of,
    texts_in,
)
from attnlab.runs.library.table import Query
from attnlab.runs.run_summary import RunSummary
from attnlab.runs.storage import Run, RunFileError, from_bytes, to_bytes
from attnlab.training.experiment import Experiment

BIN_DAYS = 30


class Problem(NamedTuple):
    """A run that cannot be read, and why."""

    number: int
    text: str


class Library:
    """Runs in a folder, or in memory if it is None. All methods are thread-safe.

    The results and curves of a run are in a file such as `runs/7.json`, and its model in
    `runs/7.run`. The index, `index.sqlite`, is built from these files if it is missing, damaged or
    of another version; opening the library reads the files that changed. All programs of this
    machine that open the folder see its contents; on a drive shared by several machines, only one
    may have it open at a time. A library in a folder without write access is only read. A library
    that would exceed `most_bytes` saves no more runs; None sets no limit. A program waits at most
    `patience` seconds for another one that writes. The first opening converts a library of an
    earlier version. Unless `indexed`, the index is only in memory: a full disk has no space for it.

    Raises `LibraryError`, with the remedy, for a folder that cannot be created, and for files in it
    that are not a library's, or damaged.

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
        indexed: bool = True,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ):
        self._clock = clock
        folder = None if folder is None else Path(folder)
        self._store = Store(folder, most_bytes=most_bytes, patience=patience, indexed=indexed)
        self._store.tidy_up(clock(), bin_days=BIN_DAYS)
        self.close = self._store.close

    def rebuild(self) -> int:
        """Make the index again from the files; return how many runs it has, including the bin.

        Those that cannot be read are added to the `problems`.
        """
        return self._store.rebuild()

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
        with self._store.changing("save a run", limited=True) as change:
            old = None if number is None else self._store.record(number)
            if number is None or old is None:
                old, number = {}, change.new_number()
            else:
                texts = texts_in(old)
            changes = old.get("changes", 0) if changes is None else changes
            run = dataclasses.replace(result, **texts, date=self._clock(), changes=changes)
            kept = {part: old.get(part) for part in ("file", "deleted")}
            new = change.put(number, record_of(run) | kept, model, run)
        if kept["file"] != new["file"]:
            self._store.files.delete(kept["file"])
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
        with self._store.reading() as connection:
            numbers = table.numbers_like(connection, experiment)
        # A class that is not registered may have the name of a registered one.
        entries = map(self.entry, numbers)
        found = (e for e in entries if e and e.experiment == experiment)
        found = (e for e in found if e.state == "done" or (diverged and e.diverged))
        wanted = current_versions()
        return next(
            (e for e in found if any_version or present(e.versions).agree_with(wanted)), None
        )

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
        return self._store.entry(number)

    def age_of(self, entry: RunSummary) -> timedelta:
        """Return how long ago a run was last saved."""
        return self._clock() - entry.date

    def entries(
        self, query: Query = Query(), *, first: int = 0, most: int = 50
    ) -> tuple[RunSummary, ...]:
        """Return at most `most` matching runs in order, starting at number `first` (from 0).

        Runs that cannot be read are left out and added to the `problems`.
        """
        with self._store.reading() as connection:
            numbers = table.numbers_of(connection, query, first=first, most=most)
        return tuple(entry for entry in map(self._store.entry, numbers) if entry)

    def count(self, query: Query = Query()) -> int:
        """Return how many match, including those that cannot be read."""
        with self._store.reading() as connection:
            return table.count_of(connection, query)

    def choices(self) -> table.Choices:
        """Return the values that runs can be filtered by."""
        with self._store.reading() as connection:
            return table.choices_of(connection)

    def problems(self) -> tuple[Problem, ...]:
        """Return the unreadable runs found so far."""
        return tuple(Problem(*pair) for pair in sorted(dict(self._store.problems).items()))

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
        what = " and ".join(changed)
        with self._store.changing(f"change the {what} of a run") as change:
            record = self._store.record(number)
            run = None if record is None else self._store.entry(number, record)
            if record is not None and run is not None:
                run = dataclasses.replace(run, **changed)
                texts = {"name": run.name, "tags": "\n".join(run.tags), "note": run.note}
                change.put(number, record | texts)

    def delete(self, numbers: Iterable[int], *, for_good: bool = False) -> None:
        """Put runs into the bin. After `BIN_DAYS` days the next opening deletes them.

        A run whose file cannot be read is deleted permanently. With `for_good` all runs are, which
        needs no space on the disk.
        """
        if for_good:
            self._store.remove(lambda _: numbers)
        else:
            self._move(numbers, moment(self._clock()))

    def restore(self, numbers: Iterable[int]) -> None:
        """Take runs out of the bin."""
        self._move(numbers, None)

    def _move(self, numbers: Iterable[int], deleted: str | None) -> None:
        with self._store.changing("delete a run" if deleted else "restore a run") as change:
            for number in numbers:
                if (record := self._store.record(number)) is not None:
                    change.put(number, record | {"deleted": deleted})
                elif deleted:
                    change.remove([number])
                self._store.problems.pop(number, None)

    def empty_bin(self) -> None:
        """Delete everything in the bin permanently."""
        self._store.check_writable()
        self._store.purge(self._clock())

    def run_of(self, number: int) -> Run | None:
        """Return the run with its model, which can be continued; None if no model is kept.

        Raises `RunFileError` for a file that is missing or damaged.
        """
        record = self._store.record(number)
        if record is None or record.get("file") is None:
            return None
        try:
            return from_bytes(self._store.model_of(record))
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
        `MOST_BYTES`.
        """
        return archive_of(self._archived(numbers, models=models))

    def _archived(
        self, numbers: Iterable[int], *, models: bool
    ) -> Iterator[tuple[Mapping[str, Any], bytes | None]]:
        for number in numbers:
            record, model = self._store.record(number), None
            entry = None if record is None else self._store.entry(number, record)
            if record is None or entry is None:
                continue
            if models and entry.has_model:
                try:
                    model = self._store.model_of(record)
                    header_of_model(entry, model)
                except RunFileError as error:
                    model = None
                    self._store.problems[number] = (
                        f"Run {number} is exported without its model. {error.problem}"
                    )
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
        with self._store.changing("import runs", durable=False, limited=True) as change:
            known = table.numbers_by_marks(change.connection)
            for entry, model in runs:
                marks = table.marks_of(entry)
                number = known.get(marks)
                there = written.get(number) or (number and self._store.record(number))
                if number is None or not there:
                    number = known[marks] = change.new_number()
                    record = record_of(entry)
                elif there.get("deleted") or (model is not None and there.get("file") is None):
                    model = model if there.get("file") is None else None
                    record, entry = there | {"deleted": None}, None
                else:
                    continue
                written[number] = change.put(number, record, model, entry)
                added.append(number)
        refused = tuple(run for run in found if isinstance(run, str))
        return TakenIn(tuple(added), len(runs) - len(added), refused)

    def size(self) -> int:
        """Return its size in bytes, on disk or in memory, including the bin."""
        return self._store.size()


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
