"""Libraries of older and newer versions of attnlab."""

import dataclasses
import sqlite3
import zlib

import numpy as np
import pytest

from attnlab.comparisons.many import run_all
from attnlab.runs.history import Versions, current_versions
from attnlab.runs.library import Library, LibraryError, Query
from attnlab.runs.result import result_of as run_result
from attnlab.runs.storage import from_bytes, to_bytes
from tests.unit.kept_results import result_of, run_of
from tests.unit.run_file_edits import in_version, joined, parts_of

# As attnlab made them before there was a bin.
VERSION_1 = """
CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, settings TEXT NOT NULL, seed INTEGER NOT NULL,
    generator TEXT NOT NULL, model TEXT NOT NULL, length INTEGER NOT NULL, state TEXT NOT NULL,
    reason TEXT NOT NULL, steps INTEGER NOT NULL, seconds REAL NOT NULL,
    parameters INTEGER NOT NULL, nll REAL, nll_stderr REAL, accuracy REAL, accuracy_stderr REAL,
    name TEXT NOT NULL, note TEXT NOT NULL, words TEXT NOT NULL, attnlab TEXT NOT NULL,
    jax TEXT NOT NULL, date TEXT NOT NULL, file TEXT, file_bytes INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE details (
    number INTEGER PRIMARY KEY, experiment TEXT NOT NULL, tests BLOB NOT NULL, curve BLOB NOT NULL
);
CREATE TABLE tags (tag TEXT, number INTEGER, PRIMARY KEY (tag, number)) WITHOUT ROWID;
CREATE INDEX tags_by_number ON tags (number);
CREATE INDEX runs_by_date ON runs (date);
CREATE INDEX runs_by_identity ON runs (settings, seed, date);
CREATE INDEX runs_by_generator ON runs (generator, date);
CREATE INDEX runs_by_model ON runs (model, date);
INSERT INTO runs VALUES (
    4, 'as hashed then', 7, 'markov', 'linear', 4, 'done', '', 60, 1.5, 39, 1.0, 0.1, 0.4, 0.02,
    'old', 'a note', 'old', '0.1.0', '0.10.1', '2026-05-01T12:00:00.000000+00:00', NULL, 0
);
INSERT INTO details VALUES (
    4, '{"version": 1, "name": "experiment", "seed": 7, "length": 4, "model": {"name": "linear"}}',
    x'EMPTY', x'CURVE'
);
INSERT INTO tags VALUES ('kept', 4);
PRAGMA application_id = 1635021934;
PRAGMA user_version = 1;
"""


def test_a_library_of_an_older_attnlab_is_read_and_goes_on(tmp_path):
    script = VERSION_1.replace("EMPTY", zlib.compress(b"").hex())
    script = script.replace("0.10.1", current_versions().jax)
    connection = sqlite3.connect(tmp_path / "library.sqlite")
    connection.executescript(script.replace("CURVE", zlib.compress(bytes(16)).hex()))
    connection.close()
    library = Library(tmp_path)
    (entry,) = library.entries(Query(tag="kept"))
    assert (entry.number, entry.name, entry.note, entry.changes) == (4, "old", "a note", 0)
    assert entry.result.curve.values.tolist() == [0.0]
    assert entry.result.exact_match is None
    # Though the settings were hashed otherwise then, and the version of jaxlib was not recorded.
    assert library.find(entry.result.experiment).number == 4
    library.delete([4])
    assert library.count() == 0
    library.restore([4])
    assert library.keep(result_of()) == 5
    library.close()
    tables = "SELECT name, sql FROM sqlite_master WHERE type = 'index' ORDER BY 1"
    Library(tmp_path / "new").close()
    made = []
    for folder in (tmp_path, tmp_path / "new"):
        connection = sqlite3.connect(folder / "library.sqlite")
        made.append([name for name, _ in connection.execute(tables)])
        connection.close()
    assert made[0] == made[1]


def test_a_library_of_before_tasks_is_read_where_it_may_not_be_written(tmp_path, monkeypatch):
    library = Library(tmp_path)
    kept = result_of()
    library.keep(kept)
    library.close()
    connection = sqlite3.connect(tmp_path / "library.sqlite")
    connection.executescript(
        "ALTER TABLE runs DROP COLUMN exact_match; PRAGMA user_version = 2;"
        "UPDATE runs SET settings = 'as hashed then'; UPDATE about SET form = 'another';"
    )
    connection.close()
    monkeypatch.setattr("attnlab.runs.library.database._may_be_written", lambda path: False)
    library = Library(tmp_path)
    (entry,) = library.entries()
    assert entry.result.exact_match is None
    # All have the column in their file, and one that is not writable is hashed as before.
    assert library.find(kept.experiment).number == entry.number
    assert library.find(dataclasses.replace(kept.experiment, seed=77)) is None
    other = Library(None)
    assert len(other.take_in(library.export([entry.number])).added) == 1
    library.close()


def test_an_update_that_fails_changes_nothing(tmp_path, monkeypatch):
    connection = sqlite3.connect(tmp_path / "library.sqlite")
    connection.executescript(VERSION_1.split("INSERT", 1)[0])
    connection.executescript("PRAGMA application_id = 1635021934; PRAGMA user_version = 1;")
    connection.close()
    steps = ((), ("ALTER TABLE runs ADD COLUMN deleted TEXT", "NONSENSE"))
    with monkeypatch.context() as patched:
        patched.setattr("attnlab.runs.library.database._STEPS", steps)
        with pytest.raises(LibraryError, match="It was left as it is"):
            Library(tmp_path)
    library = Library(tmp_path)
    assert library.keep(result_of()) == 1
    library.close()


def test_a_library_of_a_newer_attnlab_is_left_alone(library, database, tmp_path):
    library.close()
    database.execute("PRAGMA user_version = 99")
    before = (tmp_path / "library" / "library.sqlite").read_bytes()
    with pytest.raises(LibraryError, match=r"is of a newer attnlab.*99.*Update attnlab"):
        Library(tmp_path / "library")
    assert (tmp_path / "library" / "library.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    ("part", "other"),
    [*((part, "0.0.1") for part in Versions._fields), ("attnlab", ""), ("jax", "")],
)
def test_a_run_that_other_versions_made_is_reused_only_when_asked(library, part, other):
    made = current_versions()._replace(**{part: other})
    kept = result_of(versions=made)
    old = library.keep(kept)
    assert library.entry(old).result.versions == made
    assert library.find(kept.experiment) is None
    assert library.find(kept.experiment, any_version=True).number == old
    new = library.keep(result_of())
    library.keep(kept)
    assert library.find(kept.experiment).number == new


def test_a_run_file_keeps_its_versions_until_the_run_goes_on(library):
    made = Versions("0.0.1", "0.1", "0.2", "abacus")
    run = run_of()
    old = run._replace(history=dataclasses.replace(run.history, versions=made))
    again = from_bytes(to_bytes(old))
    assert again.history.versions == made
    assert again.history.until(30).versions == made
    number = library.keep(run_result(again, "done", None, 1.0))
    assert library.entry(number).result.versions == made
    assert library.run_of(number).history.versions == made
    assert library.find(again.experiment) is None
    # More steps are of this process.
    longer = again.history.with_losses(np.ones(1, np.float32))
    assert from_bytes(to_bytes(run)).history.versions == current_versions()
    assert longer.versions is None


@pytest.mark.parametrize("version", [1, 2])
def test_a_run_file_without_versions_is_read_and_kept(library, version):
    _, header, payload = parts_of(in_version(version, to_bytes(run_of())))
    assert header.pop("versions")
    run = from_bytes(joined(version, header, payload))
    assert run.history.versions == Versions()
    number = library.keep(run_result(run, "done", None, 1.0))
    assert library.find(run.experiment) is None
    assert library.find(run.experiment, any_version=True).number == number


def test_a_comparison_trains_what_other_versions_made_unless_told_otherwise():
    library, kept = Library(None), result_of(versions=Versions("0.0.1"))
    library.keep(kept)

    def results(**reuse):
        (result,) = run_all([kept.experiment], library=library, **reuse)
        return result.versions, library.count()

    assert results(any_version=True) == (Versions("0.0.1"), 1)
    assert results() == (None, 2)
    assert results() == (current_versions(), 2)
    assert results(again=True) == (None, 3)
