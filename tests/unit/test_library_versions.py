"""Libraries of older and newer versions of attnlab."""

import dataclasses
import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import zlib
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from attnlab.comparisons.many import run_all
from attnlab.runs.history import Versions, current_versions
from attnlab.runs.library import Library, LibraryError, Query
from attnlab.runs.run_summary import summary_of as run_result
from attnlab.runs.storage import from_bytes, to_bytes
from tests.unit.kept_results import Clock, result_of, run_of
from tests.unit.run_file_edits import in_version, joined, parts_of

FOLDER = Path(__file__).parents[1] / "data"
PATIENCE = 120.0
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
    versions = current_versions()
    script = script.replace("0.10.1", versions.jax).replace("0.1.0", versions.attnlab)
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


def copied(tmp_path):
    """A copy of the frozen library of the fifth version."""
    return Path(shutil.copytree(FOLDER / "library_5", tmp_path / "library"))


def contents(folder):
    """All that users see of a library: runs, the bin and what they wrote."""
    library = Library(folder, clock=Clock())
    found = [
        (entry.number, entry.name, entry.tags, entry.note, entry.date, entry.changes,
         entry.has_model, entry.deleted, entry.result.state, entry.result.evaluation)
        for deleted in (False, True)
        for entry in library.entries(Query(deleted=deleted, sort="number"))
    ]  # fmt: skip
    models = [to_bytes(library.run_of(number)) for number, *_ in found if library.run_of(number)]
    library.close()
    return found, models


def test_a_converted_library_needs_neither_its_index_nor_its_old_database(tmp_path):
    folder = copied(tmp_path)
    first = contents(folder)
    assert [number for number, *_ in first[0]] == [4, 2, 1, 3]
    assert contents(folder) == first
    for name in ("index.sqlite", "library.sqlite"):
        (folder / name).unlink()
        assert contents(folder) == first
    # What an earlier version wrote in a folder with other runs is added to them.
    shutil.copy(FOLDER / "library_5" / "library.sqlite", folder)
    clock = Clock()
    clock.now += timedelta(days=1)
    library = Library(folder, clock=clock)
    library.keep(result_of(), number=1)
    library.close()
    shutil.copy(FOLDER / "library_5" / "library.sqlite", folder)
    assert len(contents(folder)[0]) == 5


def test_an_earlier_program_does_not_write_into_a_converted_library(tmp_path):
    folder = copied(tmp_path)
    earlier = sqlite3.connect(folder / "library.sqlite")
    contents(folder)
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        earlier.execute("UPDATE runs SET name = 'lost'")
    # It refuses to open what has a higher version than its own, 5.
    assert earlier.execute("PRAGMA user_version").fetchone()[0] > 5
    earlier.close()


CONVERTS = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from attnlab.runs.library import Library

moment, after = sys.argv[2], int(sys.argv[3])
if moment != "never":
    call = getattr(os, moment)
    def counted(*arguments, **options):
        global after
        after -= 1
        if after < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **options)
    setattr(os, moment, counted)
print("ready", flush=True)
sys.stdin.readline()
library = Library(Path(sys.argv[1]), clock=lambda: datetime(2026, 5, 1, tzinfo=UTC))
print(library.count())
"""


def converting(folder, moment="never", after=0):
    command = [sys.executable, "-c", CONVERTS, str(folder), moment, str(after)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    child.stdin.write("go\n")
    child.stdin.flush()
    return child


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("moment", "after"), [("sync", 0), ("replace", 2)])
def test_a_conversion_that_is_killed_is_done_by_the_next_opening(tmp_path, moment, after):
    folder = copied(tmp_path)
    with converting(folder, moment, after) as child:
        child.communicate(timeout=PATIENCE)
        assert child.returncode == -signal.SIGKILL
    whole = copied(tmp_path / "other")
    assert contents(folder) == contents(whole)


@pytest.mark.slow
def test_programs_that_convert_a_library_at_once_have_all_of_it(tmp_path):
    folder = copied(tmp_path)
    children = [converting(folder) for _ in range(3)]
    assert [child.communicate(timeout=PATIENCE)[0] for child in children] == ["3\n"] * 3
    assert contents(folder) == contents(copied(tmp_path / "other"))


def test_an_earlier_library_is_read_where_it_may_not_be_written(tmp_path, monkeypatch):
    folder = copied(tmp_path)
    before = (folder / "library.sqlite").read_bytes()
    monkeypatch.setattr("attnlab.runs.library.store._may_be_written", lambda folder: False)
    found = contents(folder)
    assert (folder / "library.sqlite").read_bytes() == before
    assert not [*folder.rglob("*.json"), *folder.rglob("index*")]
    monkeypatch.undo()
    assert contents(folder) == found


def test_a_conversion_that_fails_changes_nothing(tmp_path, monkeypatch):
    folder = copied(tmp_path)
    before = (folder / "library.sqlite").read_bytes()

    def full(path, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(LibraryError, match="No space left on device"):
        Library(folder)
    monkeypatch.undo()
    assert (folder / "library.sqlite").read_bytes() == before
    assert not list(folder.rglob("*.json*"))
    assert contents(folder) == contents(copied(tmp_path / "other"))


@pytest.mark.parametrize("name", ["library.sqlite", "index.sqlite"])
def test_a_library_of_a_newer_attnlab_is_left_alone(tmp_path, name):
    folder = copied(tmp_path)
    Library(folder, clock=Clock()).close()
    connection = sqlite3.connect(folder / name)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = (folder / name).read_bytes()
    with pytest.raises(LibraryError, match=r"made by a newer attnlab.*99.*Update attnlab"):
        Library(folder)
    assert (folder / name).read_bytes() == before


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


@pytest.mark.slow
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
