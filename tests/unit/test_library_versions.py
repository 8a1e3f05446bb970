"""Libraries of older and newer versions of attnlab."""

import dataclasses
import sqlite3
import zlib

import pytest

from attnlab.runs.library import Library, LibraryError, Query
from tests.unit.kept_results import result_of

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
    connection = sqlite3.connect(tmp_path / "library.sqlite")
    connection.executescript(script.replace("CURVE", zlib.compress(bytes(16)).hex()))
    connection.close()
    library = Library(tmp_path)
    (entry,) = library.entries(Query(tag="kept"))
    assert (entry.number, entry.name, entry.note, entry.changes) == (4, "old", "a note", 0)
    assert entry.result.curve.values.tolist() == [0.0]
    assert entry.result.exact_match is None
    # Though the settings were hashed otherwise then.
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
        patched.setattr("attnlab.runs.library.schema._STEPS", steps)
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
