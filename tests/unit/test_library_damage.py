"""The library beside damage, and beside files that are not its own."""

import os
import sqlite3

import pytest

from attnlab.runs.library import Library, LibraryError
from attnlab.runs.storage import RunFileError, to_bytes
from tests.unit.kept_results import result_of, run_files, run_of
from tests.unit.small_experiments import SMALL

# Without the type checks, which would refuse some damage before attnlab has to.
pytestmark = pytest.mark.usefixtures("as_users_run")


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
