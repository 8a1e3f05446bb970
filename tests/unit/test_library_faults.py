"""The library when things go wrong: kills, full disks, locks, damage, other programs' files."""

import dataclasses
import errno
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import zlib
from datetime import UTC, datetime, timedelta

import pytest

from attnlab.runs.library import Library, LibraryError, Query
from attnlab.runs.run_file_header import RunFileError
from attnlab.runs.storage import save_run, to_bytes
from tests.unit.kept_results import result_of, run_of
from tests.unit.small_experiments import SMALL

PATIENCE = 120.0
posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")
# Without the type checks, which would refuse some damage before attnlab has to.
pytestmark = pytest.mark.usefixtures("as_users_run")


@pytest.fixture
def library(tmp_path):
    opened = Library(tmp_path / "library")
    yield opened
    opened.close()


@pytest.fixture
def database(library, tmp_path):
    """A second connection to the database of the library."""
    connection = sqlite3.connect(tmp_path / "library" / "library.sqlite", isolation_level=None)
    yield connection
    connection.close()


def run_files(folder):
    return sorted(path for path in folder.rglob("*.run*"))


# Keeps results with and without models until it is killed: by itself at a chosen call, or from
# outside. Says the number of each when it is kept.
KEEPS = """
import os, signal, sys
from pathlib import Path
import attnlab.runs.library.table as table
from attnlab.runs.library import Library
from attnlab.runs.result import Result
from attnlab.runs.storage import load_run

folder, moment, most = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
run = load_run(folder / "a.run")
die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
print("ready", flush=True)
if most:
    sys.stdin.readline()
library = Library(folder / "library")
for i in range(most or 1_000_000):
    if i == 5 and moment in ("fsync", "replace"):
        setattr(os, moment, die)
    if i == 5 and moment == "row":
        table._put_tags = die
    number = library.keep(Result(run.experiment, "done", steps=i, run=run), name=moment)
    print(number, flush=True)
"""


def keeping(folder, moment, most=0):
    command = [sys.executable, "-c", KEEPS, str(folder), moment, str(most)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)


@pytest.mark.slow
@posix
def test_a_program_killed_while_it_keeps_loses_nothing_finished(tmp_path):
    children = []
    for moment in ("any", "fsync", "replace", "row"):
        folder = tmp_path / moment
        folder.mkdir()
        save_run(run_of(), folder / "a.run")
        children.append((moment, folder, keeping(folder, moment)))
    for moment, folder, child in children:
        with child:
            assert child.stdout.readline() == "ready\n"
            said = [child.stdout.readline() for _ in range(5)]
            if moment == "any":
                time.sleep(0.1)
                child.kill()
            said += child.stdout.readlines()
            assert child.wait(PATIENCE) == -signal.SIGKILL
        said = [int(line) for line in said if line.endswith("\n")]
        library = Library(folder / "library")
        entries = library.entries(Query(sort="number", descending=False), most=100_000)
        kept = [entry.number for entry in entries]
        # At most the one that was being kept is there besides, and whole.
        assert kept[: len(said)] == said, moment
        assert len(kept) <= len(said) + (moment == "any")
        assert [entry.result.steps for entry in entries] == [number - 1 for number in kept]
        assert {to_bytes(library.run_of(number)) for number in kept[-9:]} == {to_bytes(run_of())}
        assert library.problems() == ()
        # What is left over of the last one goes a day later, and whoever comes next can keep.
        left = set(run_files(folder / "library")) - {
            folder / "library" / "runs" / file for file in named(folder / "library")
        }
        assert moment == "any" or len(left) == 1
        library.close()
        library = Library(folder / "library", clock=lambda: datetime.now(UTC) + timedelta(days=2))
        assert len(run_files(folder / "library")) == len(kept)
        assert library.keep(result_of()) > kept[-1]
        library.close()


def named(folder):
    with sqlite3.connect(folder / "library.sqlite") as connection:
        files = [file for (file,) in connection.execute("SELECT file FROM runs")]
    connection.close()
    return files


@pytest.mark.slow
def test_programs_that_open_and_write_at_once_lose_nothing(tmp_path):
    save_run(run_of(), tmp_path / "a.run")
    children = [keeping(tmp_path, name, most=20) for name in ("app", "other app", "sweep")]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    # All of them find no library and make it.
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    said = []
    for child in children:
        said += map(int, child.communicate(timeout=PATIENCE)[0].split())
        assert child.returncode == 0
    library = Library(tmp_path / "library")
    assert sorted(said) == list(range(1, 61))
    assert library.count() == 60
    for name in ("app", "sweep"):
        steps = [entry.result.steps for entry in library.entries(Query(text=name), most=200)]
        assert set(steps) == set(range(20))
    assert len(run_files(tmp_path / "library")) == 60
    library.close()


def test_a_full_disk_is_named_and_changes_nothing(library, tmp_path, monkeypatch):
    first = library.keep(result_of(state="interrupted", run=run_of(fill=0.1)))

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LibraryError, match=r"No space left on device\. See that") as caught:
        library.keep(result_of(run=run_of(fill=0.2)), number=first)
    assert caught.value.errno == errno.ENOSPC
    monkeypatch.undo()
    assert library.entry(first).result.state == "interrupted"
    assert to_bytes(library.run_of(first)) == to_bytes(run_of(fill=0.1))
    assert len(run_files(tmp_path)) == 1
    assert library.keep(result_of(run=run_of(fill=0.2)), number=first) == first


def test_a_database_that_is_full_is_named_and_changes_nothing(library, tmp_path):
    with library._store.reading() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
    with library._store.reading() as connection:
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    results = (result_of(seed=seed, run=run_of(seed=seed)) for seed in range(1_000))
    with pytest.raises(LibraryError, match=r"has no space left\. Free some") as caught:
        list(map(library.keep, results))
    assert caught.value.errno == errno.ENOSPC
    assert 0 < library.count() == len(run_files(tmp_path))
    with library._store.reading() as connection:
        connection.execute("PRAGMA max_page_count = 1000000")
    assert library.keep(result_of())


@posix
def test_a_limit_on_the_size_of_files_is_a_full_disk(library, tmp_path):
    import resource

    library.keep(result_of(run=run_of()))
    size = (tmp_path / "library" / "library.sqlite-wal").stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        with pytest.raises(LibraryError, match=r"See that its disk|Free some"):
            list(map(library.keep, [result_of()] * 100))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    before = library.count()
    library.keep(result_of())
    assert library.count() == before + 1


def test_a_library_that_another_program_writes_is_refused_in_words(tmp_path):
    library = Library(tmp_path, patience=0.05)
    library.keep(result_of(run=run_of()), name="kept")
    other = sqlite3.connect(tmp_path / "library.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for change in (
        lambda: library.keep(result_of(run=run_of())),
        lambda: library.describe(1, name="x"),
        lambda: library.delete([1]),
        lambda: library.take_in(library.export([1])),
    ):
        with pytest.raises(LibraryError, match=r"is being written by another program\. Try again"):
            change()
    # Reading waits for nobody, nor does opening.
    assert library.entries()[0].name == "kept"
    Library(tmp_path, patience=0.05).close()
    other.execute("ROLLBACK")
    assert library.keep(result_of()) == 2
    assert len(run_files(tmp_path)) == 1
    other.close()
    library.close()


def test_a_library_that_another_program_is_about_to_make_is_waited_for(tmp_path):
    other = sqlite3.connect(
        tmp_path / "library.sqlite", isolation_level=None, check_same_thread=False
    )
    other.execute("BEGIN IMMEDIATE")
    # SQLite refuses to change how it writes at once, however long one would wait.
    timer = threading.Timer(0.2, lambda: other.execute("ROLLBACK"))
    timer.start()
    library = Library(tmp_path, patience=PATIENCE)
    timer.join()
    other.close()
    assert library.keep(result_of()) == 1
    assert (tmp_path / "library.sqlite-wal").exists()
    library.close()


# As somebody who may not write there, which root always may.
READS = """
import os, sys
from pathlib import Path
from attnlab.runs.library import Library, LibraryError
from attnlab.runs.result import Result

if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
library = Library(Path(sys.argv[1]))
(entry,) = library.entries()
print(entry.name, library.run_of(1).experiment == entry.result.experiment, library.size() > 0)
assert library.find(entry.result.experiment) is not None
for change in (
    lambda: library.keep(entry.result),
    lambda: library.describe(1, name="x"),
    lambda: library.delete([1]),
    lambda: library.take_in(library.export([1])),
):
    try:
        change()
    except LibraryError as error:
        print(str(error).replace(sys.argv[1], "HERE"))
try:
    Library(Path(sys.argv[1]) / "new")
except LibraryError as error:
    print(str(error).replace(sys.argv[1], "HERE"))
"""


@pytest.mark.slow
@posix
def test_a_library_that_may_not_be_written_is_read(tmp_path):
    folder = tmp_path / "library"
    library = Library(folder)
    library.keep(result_of(run=run_of()), name="kept")
    library.close()
    # Of the tests alone: not the folder that all programs share.
    for parent in [each for each in (tmp_path, *tmp_path.parents) if "pytest-" in str(each)]:
        parent.chmod(0o755)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    command = [sys.executable, "-c", READS, str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    finally:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
    assert done.returncode == 0, done.stderr
    first, *refusals, new = done.stdout.splitlines()
    assert first == "kept True True"
    assert set(refusals) == {
        "The library in HERE may be read but not written. Make its folder writable, or name "
        "another folder in `ATTNLAB_LIBRARY`."
    }
    assert len(refusals) == 4
    assert new.startswith("The folder HERE/new of the library cannot be made: Permission denied.")
    assert not list(folder.glob("*-wal"))


@pytest.mark.parametrize("content", [b"not a database at all, but text" * 99, b"SQLite format 3\0"])
def test_a_file_that_is_no_database_is_left_alone(tmp_path, content):
    path = tmp_path / "library.sqlite"
    path.write_bytes(content)
    with pytest.raises(LibraryError, match=r"is not one of attnlab\. It was left as it is"):
        Library(tmp_path)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_database_of_another_program_is_left_alone(tmp_path):
    path = tmp_path / "library.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE runs (distance)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LibraryError, match="is not one of attnlab"):
        Library(tmp_path)
    assert path.read_bytes() == before


def test_a_library_of_a_newer_attnlab_is_left_alone(library, database, tmp_path):
    library.close()
    database.execute("PRAGMA user_version = 99")
    before = (tmp_path / "library" / "library.sqlite").read_bytes()
    with pytest.raises(LibraryError, match=r"is of a newer attnlab.*99.*Update attnlab"):
        Library(tmp_path / "library")
    assert (tmp_path / "library" / "library.sqlite").read_bytes() == before


def test_a_database_that_is_cut_off_or_overwritten_is_named(library, tmp_path):
    for seed in range(30):
        library.keep(result_of(seed=seed))
    library.close()
    path = tmp_path / "library" / "library.sqlite"
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 3], whole[:4096] + b"\x55" * (len(whole) - 4096)):
        path.write_bytes(content)
        with pytest.raises(LibraryError, match=r"is damaged\. It was left as it is\. Bring back"):
            Library(tmp_path / "library").entries()
        assert path.read_bytes()[:4096] == content[:4096]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LibraryError, match=r"cannot be made: .*Name another in `ATTNLAB_LIBRARY`"):
        Library(tmp_path / "file" / "library")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE details SET experiment = '{' WHERE number = 2",
        "UPDATE details SET experiment = replace(experiment, 'linear', 'of-the-future')"
        " WHERE number = 2",
        "UPDATE details SET experiment = x'ff' WHERE number = 2",
        "UPDATE details SET curve = x'00' WHERE number = 2",
        "UPDATE details SET curve = substr(curve, 1, 20) WHERE number = 2",
        "UPDATE details SET curve = curve || x'00' WHERE number = 2",
        "UPDATE details SET tests = 'text' WHERE number = 2",
        "DELETE FROM details WHERE number = 2",
        "UPDATE runs SET state = 'asleep' WHERE number = 2",
        "UPDATE runs SET steps = 'many' WHERE number = 2",
        "UPDATE runs SET seconds = x'00' WHERE number = 2",
        "UPDATE runs SET nll = 'low' WHERE number = 2",
        "UPDATE runs SET date = 'today' WHERE number = 2",
        "UPDATE runs SET date = 5 WHERE number = 2",
        "UPDATE runs SET name = x'ff' WHERE number = 2",
        "UPDATE runs SET parameters = -1 WHERE number = 2",
        "UPDATE runs SET state = CAST(x'ff' AS TEXT) WHERE number = 2",
    ],
)
def test_a_damaged_row_is_named_and_the_others_are_listed(library, database, damage):
    for seed in range(3):
        library.keep(result_of(seed=seed))
    database.execute(damage)
    assert {entry.number for entry in library.entries()} == {1, 3}
    (problem,) = library.problems()
    assert problem.number == 2
    assert problem.text.startswith("Run 2 cannot be read. ")
    assert problem.text.endswith("Update attnlab, or delete it.")
    assert library.entry(2) is None
    library.find(result_of(seed=1).experiment)
    assert library.count() == 3
    assert len(Library(None).take_in(library.export([1, 2, 3])).added) == 2
    library.delete([2])
    library.empty_bin()
    assert library.count() == 2


def test_letters_that_are_none_do_not_hide_a_run(library, database):
    library.keep(result_of(), name="kept")
    database.execute("UPDATE runs SET name = CAST(x'6bff' AS TEXT)")
    assert [entry.name for entry in library.entries()] == ["k\ufffd"]


def test_a_model_that_is_damaged_or_missing_is_named(library, tmp_path):
    number = library.keep(result_of(SMALL, run=run_of(SMALL)))
    (path,) = run_files(tmp_path)
    whole = path.read_bytes()
    for content in (whole[:-5], b"", whole[:-1] + bytes([whole[-1] ^ 1])):
        path.write_bytes(content)
        with pytest.raises(RunFileError, match=r"model of run 1 cannot be opened.*Train it again"):
            library.run_of(number)
    path.unlink()
    with pytest.raises(RunFileError, match=rf"Its file {path.name} is missing\. Train it again"):
        library.run_of(number)
    assert library.entry(number).result.steps == 60


def test_a_run_that_goes_on_while_its_model_is_read_is_read(library, monkeypatch):
    number = library.keep(result_of(run=run_of(fill=0.1)))
    files, read = library._store._files, library._store._files.read

    def slow(name):
        monkeypatch.setattr(files, "read", read)
        library.keep(result_of(run=run_of(fill=0.2)), number=number)
        return read(name)

    monkeypatch.setattr(files, "read", slow)
    assert to_bytes(library.run_of(number)) == to_bytes(run_of(fill=0.2))


def test_files_that_are_left_over_go_after_a_day(library, tmp_path):
    library.keep(result_of(run=run_of()))
    (kept,) = run_files(tmp_path)
    left = [kept.with_name("00ff.run"), kept.with_name("00ff.run.12ab.part")]
    for path in left:
        path.write_bytes(b"half")
    Library(tmp_path / "library").close()
    # Somebody may be about to name them.
    assert all(path.exists() for path in left)
    for path in (kept, *left):
        os.utime(path, (1, 1))
    Library(tmp_path / "library").close()
    assert run_files(tmp_path) == [kept]


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
