"""The index of a library: its tables, queries, and the rows of runs, in a transaction."""

import dataclasses
import hashlib
import json
import sqlite3
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from attnlab.configuration.options import (
    MOST_CHARACTERS,
    OptionError,
    check_typed,
    choose_one_of,
    default_of,
    options_of,
)
from attnlab.configuration.visible_text import normal
from attnlab.runs.differences import identity_of
from attnlab.runs.library.summary import moment
from attnlab.runs.run_summary import STATES, RunSummary
from attnlab.training.experiment import Experiment

# Raise it when the tables change.
VERSION = 1
# A `stamp` is that of the summary, with a question mark if it cannot be read; such a run has no
# other values but when it was `deleted`. Numbers are not used again.
TABLES = (
    """CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, stamp TEXT NOT NULL, file TEXT, deleted TEXT,
    settings TEXT, seed INTEGER, generator TEXT, model TEXT, length INTEGER, state TEXT,
    steps INTEGER, seconds REAL, parameters INTEGER, nll REAL, accuracy REAL, changes INTEGER,
    date TEXT, name TEXT, words TEXT)""",
    "CREATE TABLE tags (tag TEXT, number INTEGER, PRIMARY KEY (tag, number)) WITHOUT ROWID",
    "CREATE TABLE about (form TEXT)",
    "CREATE INDEX tags_by_number ON tags (number)",
    "CREATE INDEX runs_by_date ON runs (date)",
    "CREATE INDEX runs_by_identity ON runs (settings, seed, date)",
    "CREATE INDEX runs_by_generator ON runs (generator, date)",
    "CREATE INDEX runs_by_model ON runs (model, date)",
)

# The possible sort orders of a list, and their columns.
SORTS = MappingProxyType(
    {
        "date": "date",
        "number": "number",
        "name": "name",
        "process": "generator",
        "model": "model",
        "length": "length",
        "seed": "seed",
        "state": "state",
        "loss": "nll",
        "accuracy": "accuracy",
        "steps": "steps",
        "seconds": "seconds",
        "parameters": "parameters",
    }
)


@dataclasses.dataclass(frozen=True)
class Query:
    """A query for runs that match all of its fields; empty fields match everything.

    `text`: every word of it, in any case, must occur in name, note, tags, process, model or reason.
    `generator` and `model` are registered names, `tag` is a whole tag, `state` one of `STATES`,
    `settings` that of an `Identity`. `deleted` selects those in the bin instead of the others.
    `sort` is one of `SORTS`; runs without that value come last, and ties are ordered by number.
    Raises `OptionError` for another state or order, and a text of more than 200 characters or that
    is not UTF-8.
    """

    text: str = ""
    generator: str = ""
    model: str = ""
    tag: str = ""
    state: str = ""
    settings: str = ""
    deleted: bool = False
    sort: str = "date"
    descending: bool = True

    def __post_init__(self):
        for name, choices in (("state", ("", *STATES)), ("sort", tuple(SORTS))):
            if (value := getattr(self, name)) not in choices:
                raise OptionError(name, value, "not a choice", choose_one_of(choices, value))
        for name in ("text", "generator", "model", "tag"):
            check_typed(name, getattr(self, name), most=MOST_CHARACTERS)
            # How Python represents bytes of the command line that are not UTF-8.
            if any("\ud800" <= letter <= "\udfff" for letter in getattr(self, name)):
                raise OptionError(name, getattr(self, name), "not UTF-8", "Type it in UTF-8")


def condition_of(query: Query) -> tuple[str, list[Any]]:
    """Return the WHERE clause and its values."""
    parts, values = [f"deleted IS {'NOT ' if query.deleted else ''}NULL"], []
    for column in ("generator", "model", "state", "settings"):
        if wanted := getattr(query, column):
            parts.append(f"{column} = ?")
            values.append(wanted)
    if query.tag:
        parts.append("number IN (SELECT number FROM tags WHERE tag = ?)")
        values.append(normal(query.tag))
    for word in normal(query.text).casefold().split():
        parts.append("instr(words, ?)")
        values.append(word)
    return " AND ".join(parts), values


def order_of(query: Query) -> str:
    """Return the ORDER BY clause."""
    direction = "DESC" if query.descending else "ASC"
    return f"{SORTS[query.sort]} {direction} NULLS LAST, number {direction}"


def settings_form() -> str:
    """Return a hash of all options that an experiment can have here, with their defaults.

    Classes that a script registered do not count: they may change at any time.
    """
    forms: dict[str, list[tuple[str, str]]] = {}

    def visit(kind: type) -> None:
        name = f"{kind.__module__}.{kind.__qualname__}"
        if name in forms or not name.startswith("attnlab."):
            return
        specs = options_of(kind)
        forms[name] = [(option, repr(default_of(kind, option))) for option in specs]
        for spec in specs.values():
            for part in (spec.registry or {}).values():
                visit(part)

    visit(Experiment)
    return hashlib.sha256(json.dumps(forms, sort_keys=True).encode()).hexdigest()


def numbers_of(connection: sqlite3.Connection, query: Query, *, first: int, most: int) -> list[int]:
    """Return the numbers of a page of matching runs, in order."""
    condition, values = condition_of(query)
    page = f"WHERE {condition} ORDER BY {order_of(query)} LIMIT ? OFFSET ?"
    return _numbers(connection, page, *values, most, first)


def count_of(connection: sqlite3.Connection, query: Query) -> int:
    """Return how many match."""
    condition, values = condition_of(query)
    statement = f"SELECT count(*) FROM runs WHERE {condition}"
    return connection.execute(statement, values).fetchone()[0]


def numbers_like(connection: sqlite3.Connection, experiment: Experiment) -> list[int]:
    """Return ended, unchanged runs with these settings and this seed, the newest first."""
    try:
        identity = identity_of(experiment)
    except OptionError:
        # No library contains an unregistered class with the name of a registered one.
        return []
    return _numbers(
        connection,
        "WHERE settings = ? AND seed = ? AND state IN ('done', 'failed') AND changes = 0 "
        "AND deleted IS NULL ORDER BY date DESC, number DESC",
        *identity,
    )


def numbers_deleted(connection: sqlite3.Connection, by: str) -> list[int]:
    """Return the runs that were in the bin at that date."""
    return _numbers(connection, "WHERE deleted <= ?", by)


def _numbers(connection: sqlite3.Connection, rest: str, *values: Any) -> list[int]:
    return [number for (number,) in connection.execute(f"SELECT number FROM runs {rest}", values)]


class Choices(NamedTuple):
    """The values that runs outside the bin can be filtered by."""

    generators: tuple[str, ...]
    models: tuple[str, ...]
    tags: tuple[str, ...]


def choices_of(connection: sqlite3.Connection) -> Choices:
    """Return the existing values, in alphabetical order."""

    def found(column: str, source: str) -> tuple[str, ...]:
        condition = f"deleted IS NULL AND typeof({column}) = 'text'"
        statement = f"SELECT DISTINCT {column} FROM {source} WHERE {condition} ORDER BY 1"
        return tuple(value for (value,) in connection.execute(statement))

    tagged = "tags JOIN runs USING (number)"
    return Choices(found("generator", "runs"), found("model", "runs"), found("tag", tagged))


_MARKS = ("date", "seed", "state", "steps", "seconds")


def marks_of(run: RunSummary) -> tuple[Any, ...]:
    """Return the values that are equal for two imports of the same run."""
    seed, seconds = run.experiment.seed, float(run.seconds)
    return moment(run.date), seed, run.state, int(run.steps), seconds


def numbers_by_marks(connection: sqlite3.Connection) -> dict[tuple[Any, ...], int]:
    """Return all runs that can be read, by their `marks_of`."""
    rows = connection.execute(f"SELECT {', '.join(_MARKS)}, number FROM runs WHERE date NOT NULL")
    return {tuple(marks): number for *marks, number in rows}


def next_number(connection: sqlite3.Connection) -> int:
    """Return a number that no run has had."""
    found = connection.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'runs'")
    return (found.fetchone()[0] or 0) + 1


def put(
    connection: sqlite3.Connection,
    number: int,
    stamp: str,
    record: Mapping[str, Any],
    run: RunSummary | None,
) -> None:
    """Add or replace a run, or one that cannot be read, whose summary is None."""
    values = {"number": number, "stamp": stamp if run else f"?{stamp}"}
    values |= {name: record[name] for name in ("file", "deleted")
               if isinstance(record.get(name), str)}  # fmt: skip
    if run is not None:
        experiment, test = run.experiment, run.evaluation
        names = (experiment.generator.name, experiment.model.name)
        words = (run.name, run.note, *run.tags, *names, run.reason)
        settings, seed = identity_of(experiment)
        values |= {
            "settings": settings,
            "seed": seed,
            "generator": names[0],
            "model": names[1],
            "length": experiment.length,
            "state": run.state,
            "steps": int(run.steps),
            "seconds": float(run.seconds),
            "parameters": int(run.parameters),
            "nll": None if test is None else float(test.nll),
            "accuracy": None if test is None else float(test.accuracy),
            "changes": run.changes,
            "date": moment(run.date),
            "name": run.name,
            "words": "\n".join(words).casefold(),
        }
    places = ", ".join("?" * len(values))
    statement = f"INSERT OR REPLACE INTO runs ({', '.join(values)}) VALUES ({places})"
    connection.execute(statement, list(values.values()))
    connection.execute("DELETE FROM tags WHERE number = ?", (number,))
    tags = () if run is None else run.tags
    connection.executemany("INSERT INTO tags VALUES (?, ?)", [(tag, number) for tag in tags])


def remove(connection: sqlite3.Connection, number: int) -> None:
    """Remove a run."""
    for name in ("runs", "tags"):
        connection.execute(f"DELETE FROM {name} WHERE number = ?", (number,))


def clear(connection: sqlite3.Connection, form: str) -> None:
    """Remove all runs; store the `settings_form` that the next runs are hashed with."""
    for name in ("runs", "tags", "about"):
        connection.execute(f"DELETE FROM {name}")
    connection.execute("INSERT INTO about VALUES (?)", (form,))


def forms_of(connection: sqlite3.Connection) -> list[str]:
    """Return the `settings_form` that settings were hashed with."""
    return [form for (form,) in connection.execute("SELECT form FROM about")]


def stamps_of(connection: sqlite3.Connection) -> dict[int, str]:
    """Return the stamps of all runs by their numbers."""
    return dict(connection.execute("SELECT number, stamp FROM runs").fetchall())


def models_of(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the files of all models that rows name, including the bin."""
    return frozenset(file for (file,) in connection.execute("SELECT file FROM runs") if file)
