"""Rows of a library: queries, and reading and writing rows in a transaction."""

import dataclasses
import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from attnlab.configuration.options import (
    MOST_CHARACTERS,
    OptionError,
    check_typed,
    default_of,
    options_of,
)
from attnlab.configuration.visible_text import normal
from attnlab.runs.differences import identity_of
from attnlab.runs.library.summary import MOST_NAME, Description, description_of
from attnlab.runs.result import STATES
from attnlab.training.experiment import Experiment

# The possible sort orders of a list, and their columns.
SORTS = MappingProxyType(
    {
        "date": "runs.date",
        "number": "runs.number",
        "name": "runs.name",
        "process": "runs.generator",
        "model": "runs.model",
        "length": "runs.length",
        "seed": "runs.seed",
        "state": "runs.state",
        "loss": "runs.nll",
        "accuracy": "runs.accuracy",
        "steps": "runs.steps",
        "seconds": "runs.seconds",
        "parameters": "runs.parameters",
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
            if getattr(self, name) not in choices:
                listed = ", ".join(f"'{choice}'" for choice in choices)
                remedy = f"Choose one of {listed}"
                raise OptionError(name, getattr(self, name), "not a choice", remedy)
        for name in ("text", "generator", "model", "tag"):
            check_typed(name, getattr(self, name), most=MOST_CHARACTERS)
            # How Python represents bytes of the command line that are not UTF-8.
            if any("\ud800" <= letter <= "\udfff" for letter in getattr(self, name)):
                raise OptionError(name, getattr(self, name), "not UTF-8", "Type it in UTF-8")


def condition_of(query: Query) -> tuple[str, list[Any]]:
    """Return the WHERE clause and its values."""
    parts, values = [f"runs.deleted IS {'NOT ' if query.deleted else ''}NULL"], []
    for column in ("generator", "model", "state", "settings"):
        if wanted := getattr(query, column):
            parts.append(f"runs.{column} = ?")
            values.append(wanted)
    if query.tag:
        parts.append("runs.number IN (SELECT number FROM tags WHERE tag = ?)")
        values.append(normal(query.tag))
    for word in normal(query.text).casefold().split():
        parts.append("instr(runs.words, ?)")
        values.append(word)
    return " AND ".join(parts), values


def order_of(query: Query) -> str:
    """Return the ORDER BY clause."""
    direction = "DESC" if query.descending else "ASC"
    return f"{SORTS[query.sort]} {direction} NULLS LAST, runs.number {direction}"


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


_DETAILS = ("experiment", "tests", "curve")
_WHOLE = """
    SELECT runs.*, details.experiment, details.tests, details.curve,
    (SELECT group_concat(tag, char(10)) FROM tags WHERE tags.number = runs.number) AS tags
    FROM runs LEFT JOIN details USING (number)
"""
_DELETED = "WHERE deleted <= ?"
_MARKS = ("date", "seed", "state", "steps", "seconds")


def row_at(connection: sqlite3.Connection, number: int | None) -> dict[str, Any] | None:
    """Return the row of a number, or None."""
    found = _whole_rows(connection, "WHERE number = ?", [number])
    return found[0] if found else None


def rows_of(
    connection: sqlite3.Connection, query: Query, *, first: int, most: int
) -> list[dict[str, Any]]:
    """Return a page of matching rows, in order; display columns are read for this page only."""
    condition, values = condition_of(query)
    order = order_of(query)
    page = f"SELECT number FROM runs WHERE {condition} ORDER BY {order} LIMIT ? OFFSET ?"
    rest = f"JOIN ({page}) USING (number) ORDER BY {order}"
    return _whole_rows(connection, rest, [*values, most, first])


def count_of(connection: sqlite3.Connection, query: Query) -> int:
    """Return how many match."""
    condition, values = condition_of(query)
    statement = f"SELECT count(*) FROM runs WHERE {condition}"
    return connection.execute(statement, values).fetchone()[0]


def rows_like(connection: sqlite3.Connection, experiment: Experiment) -> list[dict[str, Any]]:
    """Return ended, unchanged runs with these settings and this seed, the newest first.

    In a read-only library whose settings were hashed by another attnlab, all that may have them.
    """
    try:
        identity = identity_of(experiment)
    except OptionError:
        # No library contains an unregistered class with the name of a registered one.
        return []
    if form_of(connection) == settings_form():
        condition, values = "settings = ? AND seed = ?", [*identity]
    else:
        condition = "generator = ? AND model = ? AND length = ? AND seed = ?"
        values = [experiment.generator.name, experiment.model.name, experiment.length]
        values.append(experiment.seed)
    return _whole_rows(
        connection,
        f"WHERE {condition} AND state IN ('done', 'failed') AND changes = 0 AND deleted IS NULL "
        "ORDER BY date DESC, number DESC",
        values,
    )


class Choices(NamedTuple):
    """The values that runs outside the bin can be filtered by."""

    generators: tuple[str, ...]
    models: tuple[str, ...]
    tags: tuple[str, ...]


def choices_of(connection: sqlite3.Connection) -> Choices:
    """Return the existing values, in alphabetical order."""

    def found(column: str, source: str) -> tuple[str, ...]:
        statement = f"SELECT DISTINCT {column} FROM {source} WHERE deleted IS NULL ORDER BY 1"
        return tuple(
            value
            for (value,) in connection.execute(statement)
            if isinstance(value, str) and 0 < len(value) <= MOST_NAME
        )

    tagged = "tags JOIN runs USING (number)"
    return Choices(found("generator", "runs"), found("model", "runs"), found("tag", tagged))


class _Known(NamedTuple):
    """What an import needs to know of an existing row, in the bin or not."""

    number: int
    is_deleted: bool
    has_file: bool


def add_all(
    connection: sqlite3.Connection, runs: Iterable[tuple[Mapping[str, Any], Description]]
) -> list[int | None]:
    """Add the rows that do not exist yet; return the number of each.

    A row with the same date and the same results is the same run. It is restored from the bin and
    gets the model that it lacked; otherwise its number is None.
    """
    rows = connection.execute(f"SELECT number, deleted, file, {', '.join(_MARKS)} FROM runs")
    known = {
        tuple(marks): _Known(number, deleted is not None, file is not None)
        for number, deleted, file, *marks in rows
    }
    numbers = []
    for row, words in runs:
        marks, has_file = tuple(row[mark] for mark in _MARKS), "file" in row
        there = known.get(marks)
        if there is None:
            numbers.append(insert(connection, row, words))
        elif there.is_deleted or (has_file and not there.has_file):
            changed = {"deleted": None}
            if has_file and not there.has_file:
                changed |= {name: row[name] for name in ("file", "file_bytes")}
            change(connection, "runs", there.number, changed)
            numbers.append(there.number)
        else:
            numbers.append(None)
            continue
        known[marks] = _Known(
            numbers[-1], False, has_file or (there is not None and there.has_file)
        )
    return numbers


def _whole_rows(
    connection: sqlite3.Connection, rest: str, values: Sequence[Any]
) -> list[dict[str, Any]]:
    return [dict(row) for row in connection.execute(f"{_WHOLE} {rest}", values)]


def insert(connection: sqlite3.Connection, row: Mapping[str, Any], words: Description) -> int:
    """Insert a new row; return its number."""
    values = {"name": words.name, "note": words.note, "words": _searched(row, words)}
    values |= {column: value for column, value in row.items() if column not in _DETAILS}
    number = _add(connection, "runs", values)
    _add(connection, "details", {"number": number} | {column: row[column] for column in _DETAILS})
    _put_tags(connection, number, words.tags)
    return number


def update(connection: sqlite3.Connection, row: Mapping[str, Any], old: Mapping[str, Any]) -> None:
    """Change the values of a row, but not the user's texts."""
    values = {column: value for column, value in row.items() if column not in _DETAILS}
    values["words"] = _searched(row, description_of(old))
    change(connection, "runs", old["number"], values)
    change(connection, "details", old["number"], {column: row[column] for column in _DETAILS})


def describe(connection: sqlite3.Connection, row: Mapping[str, Any], words: Description) -> None:
    """Change the user's texts of a row."""
    values = {"name": words.name, "note": words.note, "words": _searched(row, words)}
    change(connection, "runs", row["number"], values)
    _put_tags(connection, row["number"], words.tags)


def change(
    connection: sqlite3.Connection, table: str, number: int, values: Mapping[str, Any]
) -> None:
    """Change some columns of a row."""
    changes = ", ".join(f"{column} = ?" for column in values)
    statement = f"UPDATE {table} SET {changes} WHERE number = ?"
    connection.execute(statement, [*values.values(), number])


def files_deleted(connection: sqlite3.Connection, by: str) -> list[str | None]:
    """Return the files of runs that were in the bin at that date, None for one without."""
    return [file for (file,) in connection.execute(f"SELECT file FROM runs {_DELETED}", (by,))]


def files_of(connection: sqlite3.Connection) -> frozenset[str]:
    """Return all files that rows name, including the bin."""
    return frozenset(file for (file,) in connection.execute("SELECT file FROM runs") if file)


def bytes_of_files(connection: sqlite3.Connection) -> int:
    """Return the total bytes of these files."""
    # Another program may have written something that is no number, or too large for a sum.
    condition = f"typeof(file_bytes) = 'integer' AND file_bytes BETWEEN 0 AND {2**53}"
    statement = f"SELECT total(file_bytes) FROM runs WHERE {condition}"
    return int(connection.execute(statement).fetchone()[0])


def form_of(connection: sqlite3.Connection) -> str:
    """Return the `settings_form` that settings were hashed with."""
    found = connection.execute("SELECT form FROM about").fetchall()
    if len(found) != 1:
        # The error that SQLite raises for inconsistent data.
        error = sqlite3.DatabaseError("no single form of settings")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error
    return found[0][0]


def remove(connection: sqlite3.Connection, by: str) -> None:
    """Delete permanently what was in the bin at that date."""
    for name in ("details", "tags"):
        statement = f"DELETE FROM {name} WHERE number IN (SELECT number FROM runs {_DELETED})"
        connection.execute(statement, (by,))
    connection.execute(f"DELETE FROM runs {_DELETED}", (by,))


def experiments_of(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    """Return the experiments of all runs, with their numbers."""
    rows = connection.execute("SELECT number, experiment FROM details").fetchall()
    return [(number, text) for number, text in rows]


def put_settings(
    connection: sqlite3.Connection, settings: Iterable[tuple[str, int]], form: str
) -> None:
    """Write other hashes of settings, each with its run's number, and their form."""
    connection.executemany("UPDATE runs SET settings = ? WHERE number = ?", settings)
    connection.execute("UPDATE about SET form = ?", (form,))


def _searched(row: Mapping[str, Any], words: Description) -> str:
    """Return everything that a text search looks at."""
    parts = (words.name, words.note, *words.tags, row["generator"], row["model"], row["reason"])
    # Another program may have written something that is no text.
    return "\n".join(map(str, parts)).casefold()


def _add(connection: sqlite3.Connection, table: str, values: Mapping[str, Any]) -> int:
    places = ", ".join("?" * len(values))
    statement = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({places})"
    return connection.execute(statement, list(values.values())).lastrowid


def _put_tags(connection: sqlite3.Connection, number: int, tags: tuple[str, ...]) -> None:
    connection.execute("DELETE FROM tags WHERE number = ?", (number,))
    connection.executemany("INSERT INTO tags VALUES (?, ?)", [(tag, number) for tag in tags])
