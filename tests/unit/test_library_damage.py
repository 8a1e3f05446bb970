"""The library beside damage, and beside files that are not its own."""

import json
import os
import time

import pytest

from attnlab.runs.library import Library, LibraryError, Query
from attnlab.runs.storage import RunFileError
from tests.unit.kept_results import result_of, run_files, run_of
from tests.unit.small_experiments import SMALL

# Without the type checks, which would refuse some damage before attnlab has to.
pytestmark = pytest.mark.usefixtures("as_users_run")


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LibraryError, match=r"cannot be made: .*Name another in `ATTNLAB_LIBRARY`"):
        Library(tmp_path / "file" / "library")


def edit(tmp_path, number, **changes):
    """Change values in the summary of a run."""
    path = tmp_path / "library" / "runs" / f"{number}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    "damage",
    [
        {"experiment": '{"version": 1, "name": "experiment", "model": {"name": "of-the-future"}}'},
        {"curve": "AA=="},
        {"state": "asleep"},
        {"date": 5},
        {"parameters": -1},
    ],
)
def test_a_damaged_run_is_named_and_the_others_are_listed(library, tmp_path, damage):
    for seed in range(3):
        library.keep(result_of(seed=seed))
    edit(tmp_path, 2, **damage)
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
    assert (library.count(), library.count(Query(deleted=True))) == (2, 1)
    library.restore([2])
    assert library.rebuild() == 2
    library.delete([2])
    library.empty_bin()
    assert library.count() == library.rebuild() == 2


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff" * 99, b"[" * 100_000])
def test_a_file_that_is_no_summary_is_named_and_deleted(library, tmp_path, content):
    library.keep(result_of())
    library.keep(result_of(seed=1))
    (tmp_path / "library" / "runs" / "1.json").write_bytes(content)
    assert library.rebuild() == 1
    ((number, text),) = library.problems()
    assert (number, "1.json" in text) == (1, True)
    library.delete([1])
    assert not library.problems()
    assert library.count() == 1
    assert library.keep(result_of()) == 3


def test_runs_are_files_that_can_be_copied_and_deleted(library, tmp_path):
    library.keep(result_of(run=run_of()), name="first")
    library.keep(result_of(seed=1))
    runs = tmp_path / "library" / "runs"
    assert {path.name for path in runs.iterdir()} == {"1.json", "1.run", "2.json"}
    (runs / "2.json").unlink()
    (runs / "7.json").write_bytes((runs / "1.json").read_bytes())
    library = Library(tmp_path / "library")
    assert {entry.number: entry.name for entry in library.entries()} == {1: "first", 7: "first"}
    assert library.keep(result_of()) == 8


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
    assert library.entry(number).steps == 60


def test_files_that_are_left_over_go_after_an_hour(library, tmp_path):
    library.keep(result_of(run=run_of()))
    (kept,) = run_files(tmp_path)
    left = [kept.with_name("00ff.run"), kept.with_name("00ff.run.12ab.part")]
    for path in left:
        path.write_bytes(b"half")
    Library(tmp_path / "library")
    # A user may be about to name them.
    assert all(path.exists() for path in left)
    for path in (kept, *left):
        os.utime(path, (time.time() - 2 * 3_600,) * 2)
    Library(tmp_path / "library")
    assert run_files(tmp_path) == [kept]
