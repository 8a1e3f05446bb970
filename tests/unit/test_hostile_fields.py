"""Hostile values in every field of an archive and of a library's tables.

What is read is either right or refused by name, the other runs are there, and nothing that was
accepted can be drawn on no page or printed by no command.
"""

import contextlib
import json
import math
import random
import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from attnlab.configuration.options import OptionError
from attnlab.runs.library import SORTS, ArchiveError, Library, LibraryError, Query
from attnlab.runs.library.summary import RowError
from attnlab.runs.storage import RunFileError
from tests.unit.kept_results import Clock, result_of, run_of
from tests.unit.test_library_file import joined, parts_of

# Without the type checks, which would refuse some damage before attnlab has to.
pytestmark = pytest.mark.usefixtures("as_users_run")

HOSTILE = [
    None, True, -1, 7.5, 2**53 + 1, 2**63, 10**400, 1e308, math.nan, math.inf, -math.inf,
    "", "x", "1", "a" * 100_000, "\0", "\ud800", "\x1b[2J\u202e",
    "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+00:00", "2026-01-01T00:00:00+23:59",
    "../../x.run", "[" * 100_000, [], {}, [None] * 9, [1e400], ["x"] * 4,
]  # fmt: skip
# The ends of the day.
ZONES = [ZoneInfo("Etc/GMT-14"), ZoneInfo("Etc/GMT+12"), UTC]


def source():
    library = Library(None, clock=Clock())
    library.keep(result_of(run=run_of(), exact_match=0.5), name="hostile", tags=("a",))
    library.keep(result_of(seed=1), name="good")
    return library


def whole_archive():
    library = source()
    try:
        return library.export([1, 2])
    finally:
        library.close()


DATA = Path(__file__).parents[1] / "data"
ARCHIVE = whole_archive()
(RECORD, MODEL), GOOD = parts_of(ARCHIVE)


def assert_can_be_shown(entry):
    """Every number of an entry is finite and possible, and its date is one in every zone."""
    result = entry.result
    for zone in ZONES:
        assert datetime.fromisoformat(entry.kept_at(zone)).tzinfo
    for whole in (result.steps, result.parameters, entry.changes, entry.number):
        assert 0 <= whole <= 2**53
    assert 0 <= result.seconds < math.inf
    for evaluation in filter(None, (result.evaluation, *(test for _, test in result.tests))):
        assert all(math.isnan(each) or each >= 0 for each in evaluation[:4])
        assert evaluation.excess is None or math.isfinite(evaluation.excess)
        assert not evaluation.accuracy > 1
    if result.evaluation is not None:
        assert all(each < math.inf or math.isnan(each) for each in result.evaluation[:4])
    for text in (entry.name, *entry.tags, result.reason, *result.versions):
        assert text == "" or text.isprintable()


@pytest.mark.slow
@pytest.mark.parametrize("field", sorted(RECORD.keys()))
def test_a_hostile_field_of_an_archive_is_refused_by_name_and_the_others_come_in(field):
    for value in HOSTILE:
        library = Library(None)
        try:
            taken = library.take_in(joined([({**RECORD, field: value}, MODEL), GOOD]))
        except ArchiveError:
            # The size of the model says where the next run begins.
            assert field == "model_bytes"
            continue
        finally_named = {entry.name for entry in library.entries()}
        assert "good" in finally_named, value
        assert library.problems() == ()
        assert len(taken.added) == 2 or "Run 1 of this file was left out." in taken.refused[0], (
            value
        )
        for entry in library.entries():
            assert_can_be_shown(entry)
        again = Library(None)
        assert len(again.take_in(library.export(taken.added)).added) == len(taken.added)
        again.close()
        library.close()


SQL_VALUES = [
    "NULL", "'x'", "x'00ff'", "CAST(x'ff41' AS TEXT)", "'a' || char(0) || 'b'",
    "9223372036854775807", "-1", "9e999", "hex(zeroblob(100000))", "'[[[['",
    "'9999-12-31T23:59:59+00:00'", "'../../../etc/passwd'",
]  # fmt: skip


def columns(path):
    connection = sqlite3.connect(path)
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    found = [
        (table, column)
        for (table,) in connection.execute(tables).fetchall()
        for _, column, *_ in connection.execute(f"PRAGMA table_info({table})").fetchall()
    ]
    connection.close()
    return found


def filled(folder):
    """A library of a run that stays good and one for every hostile value, each with a model."""
    library = Library(folder, clock=Clock())
    library.keep(result_of(seed=1), name="good", tags=("a",))
    for seed, _ in enumerate(SQL_VALUES, start=2):
        library.keep(result_of(seed=seed, run=run_of(seed=seed)), name="hostile", tags=("b",))
    library.close()
    return folder


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("pristine"))


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """The frozen library of an earlier version with as many runs as hostile values."""
    folder = tmp_path_factory.mktemp("earlier")
    shutil.copytree(DATA / "library_5", folder, dirs_exist_ok=True)
    connection = sqlite3.connect(folder / "library.sqlite")
    connection.execute("DELETE FROM runs WHERE number > 1")
    connection.execute("UPDATE runs SET name = 'good'")
    for table in ("runs", "details"):
        listed = [name for owner, name in columns(folder / "library.sqlite") if owner == table]
        rest = ", ".join(listed[1:])
        for number, _ in enumerate(SQL_VALUES, start=2):
            connection.execute(f"DELETE FROM {table} WHERE number = {number}")
            connection.execute(
                f"INSERT INTO {table} (number, {rest}) SELECT {number}, {rest} FROM {table} "
                "WHERE number = 1"
            )
    connection.execute("UPDATE runs SET name = 'hostile' WHERE number > 1")
    connection.commit()
    connection.close()
    return folder


def use_all(folder):
    """Do all that pages and commands do; the names of the runs that can be listed."""
    library = Library(folder, clock=Clock())

    def attempt(action):
        with contextlib.suppress(LibraryError, OptionError, RunFileError, RowError):
            action()

    try:
        for query in (Query(), Query(deleted=True), Query(text="x"), Query(tag="b"),
                      *(Query(sort=sort) for sort in SORTS)):  # fmt: skip
            attempt(lambda query=query: library.count(query))
            for entry in library.entries(query):
                assert_can_be_shown(entry)
        for choice in library.choices():
            assert all(isinstance(each, str) for each in choice)
        assert 0 <= library.size() < 2**63
        numbers = range(1, len(SQL_VALUES) + 2)
        for number in numbers:
            attempt(lambda number=number: library.find(result_of(seed=number).experiment))
            attempt(lambda number=number: library.run_of(number))
            attempt(lambda number=number: library.describe(number, note="new"))
        taken_in = Library(None)
        assert taken_in.take_in(library.export(numbers)).refused == ()
        taken_in.close()
        attempt(lambda: library.take_in(ARCHIVE))
        attempt(lambda: library.keep(result_of(seed=2), number=2))
        named = {entry.name for entry in library.entries(most=1_000)}
        library.delete(numbers[1:])
        library.restore([2])
        library.empty_bin()
        return named
    finally:
        library.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["library.sqlite", "index.sqlite"])
def test_hostile_values_in_any_column_poison_nothing(pristine, earlier, tmp_path, name):
    source = pristine if name == "index.sqlite" else earlier
    written, found = 0, columns(source / name)
    # Four columns share a copy: every run of it has one hostile field, and every column three.
    for place, first in enumerate(range(0, len(found), 4)):
        group = found[first : first + 4]
        folder = tmp_path / str(place)
        shutil.copytree(source, folder)
        connection = sqlite3.connect(folder / name, isolation_level=None)
        for number, value in enumerate(SQL_VALUES, start=2):
            table, column = group[(number + place) % len(group)]
            where = "" if table == "about" else f"WHERE number = {number}"
            # SQLite itself refuses some of them.
            with contextlib.suppress(sqlite3.IntegrityError):
                connection.execute(f"UPDATE {table} SET {column} = {value} {where}")
                written += 1
        connection.close()
        assert "good" in use_all(folder), group
    assert written > 50


@pytest.mark.slow
@pytest.mark.parametrize("place", range(6))
def test_hostile_fields_of_summaries_poison_nothing(pristine, tmp_path, place):
    shutil.copytree(pristine, tmp_path, dirs_exist_ok=True)
    for number in range(2, len(SQL_VALUES) + 2):
        path = tmp_path / "runs" / f"{number}.json"
        record = json.loads(path.read_text())
        # Every field of a summary in turn, with several values.
        field = sorted(record)[(number + place * len(SQL_VALUES)) % len(record)]
        value = HOSTILE[(7 * number + place) % len(HOSTILE)]
        path.write_text(json.dumps(record | {field: value}))
    assert "good" in use_all(tmp_path)


DAMAGE = {
    "no tags": "DROP TABLE tags",
    "no details": "DROP TABLE details",
    "no runs": "DROP TABLE runs",
    "a view": "ALTER TABLE runs RENAME TO others; CREATE VIEW runs AS SELECT 1 AS number",
    "a name that is no text": "schema",
    "all of another encoding": "encoding",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_earlier_library_is_refused_in_words(earlier, tmp_path, damage):
    path = tmp_path / "library.sqlite"
    content = (earlier / "library.sqlite").read_bytes()
    if damage == "a name that is no text":
        content = content.replace(b"CREATE TABLE runs", b"CREATE TABLE r\xc1ns")
    elif damage == "all of another encoding":
        content = content.replace(b"experiment", b"exper\xff\xfeent")
    path.write_bytes(content)
    if " " in DAMAGE[damage]:
        connection = sqlite3.connect(path)
        connection.executescript(DAMAGE[damage])
        connection.close()
    before = path.read_bytes()
    with pytest.raises(LibraryError, match=r"is damaged|lacks parts|cannot be"):
        Library(tmp_path)
    assert path.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["library.sqlite", "index.sqlite"])
def test_changed_bytes_of_a_database_are_refused_in_words(pristine, earlier, tmp_path, name):
    source = pristine if name == "index.sqlite" else earlier
    content, refused = (source / name).read_bytes(), 0
    for seed in range(6):
        folder = tmp_path / str(seed)
        shutil.copytree(source, folder)
        chance, changed = random.Random(seed), bytearray(content)
        for _ in range(chance.choice([1, 8, 64])):
            # The first pages have the schema.
            changed[chance.randrange(chance.choice([4_096, len(content)]))] = chance.randrange(256)
        (folder / name).write_bytes(changed)
        try:
            use_all(folder)
        except LibraryError:
            refused += 1
    assert refused < 6
