"""Runs from the command line: saved, gone on with, kept, listed and taken elsewhere."""

import json
import math
import os
import subprocess
import sys
import tracemalloc
import zipfile

import pytest

from attnlab.runs.library import Library
from attnlab.runs.storage import load_run
from tests.unit.documents import ROOT
from tests.unit.kept_results import result_of, run_of
from tests.unit.small_experiments import SMALL as SMALL_ATTENTION

SMALL = ("--length", "4", "--batch", "20", "--train-size", "200", "--test-size", "100",
         "--d-attn", "2", "--d-model", "2")  # fmt: skip

pytestmark = pytest.mark.usefixtures("as_users_run")


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A library of one's own; its folder."""
    monkeypatch.setenv("ATTNLAB_LIBRARY", str(tmp_path / "library"))
    return tmp_path / "library"


@pytest.mark.slow
def test_a_run_that_is_saved_and_gone_on_with_is_the_run_in_one_go(run, tmp_path):
    half, whole = tmp_path / "half.run", tmp_path / "whole.run"
    assert run("train", *SMALL, "--steps", 20, "--save", half)[0] == 0
    assert run("train", "--load", half, "--steps", 40, "--save", whole)[0] == 0
    at_once = json.loads(run("train", *SMALL, "--steps", 40, "--json")[1])
    stored = load_run(whole)
    assert int(stored.state.step) == 40
    assert stored.history.losses.size == 40
    assert [str(change) for change in stored.history.changes] == ["steps 20 → 40"]
    step, test = stored.history.tests[-1]
    assert (step, test.nll) == (40, at_once["test_nll"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--seed", 3), ("`load`", "the same process and model")),
        (("--steps", 20), ("`steps` is 20", "has made 20")),
        (("--preset", "corrected-markov"), ("`preset`", "Leave out")),
    ],
    ids=["another seed", "no steps", "a preset"],
)
def test_what_a_file_cannot_go_on_with_is_refused(run, tmp_path, arguments, words):
    file = tmp_path / "my.run"
    run("train", *SMALL, "--steps", 20, "--save", file)
    status, out, err = run("train", "--load", file, *arguments)
    assert (status, out) == (2, "")
    assert all(word in err for word in words)


def test_a_trained_run_is_listed_shown_deleted_and_brought_back(run, library):
    run("train", *SMALL, "--steps", 20, "--seed", 7)
    status, out, _ = run("runs", "list", "--json")
    assert status == 0
    (row,) = json.loads(out)["rows"]
    assert (row["state"], row["steps"], row["experiment"]["seed"]) == ("done", 20, 7)
    number = row["number"]
    assert json.loads(run("runs", "show", number, "--json")[1]) == row
    assert "seed 7" in run("runs", "list")[1]
    assert run("runs", "list", "--model", "linear")[1] == ""
    assert run("runs", "delete", number)[0] == 0
    assert json.loads(run("runs", "list", "--json")[1]) == {"count": 0, "rows": []}
    assert run("runs", "restore", number)[0] == 0
    assert json.loads(run("runs", "list", "--json")[1])["count"] == 1


def test_runs_go_from_one_library_to_another_once(run, library, tmp_path, monkeypatch):
    run("train", *SMALL, "--steps", 20)
    assert run("runs", "export", tmp_path / "all.runs")[0] == 0
    monkeypatch.setenv("ATTNLAB_LIBRARY", str(tmp_path / "other"))
    assert "1 added, 0 already there" in run("runs", "import", tmp_path / "all.runs")[2]
    assert "0 added, 1 already there" in run("runs", "import", tmp_path / "all.runs")[2]
    assert json.loads(run("runs", "list", "--json")[1])["count"] == 1


def test_what_the_library_does_not_have_is_refused_by_name(run, library, tmp_path):
    for arguments, word in (
        (("show", 9), "`number` is 9"),
        (("delete", "x"), "`number` is 'x'"),
        (("import", tmp_path / "none"), "`file`"),
    ):
        status, out, err = run("runs", *arguments)
        assert (status, out) == (2, "")
        assert word in err


def test_a_library_that_is_off_says_so_and_one_that_is_broken_does_not_stop_a_run(
    run, tmp_path, monkeypatch
):
    assert "`ATTNLAB_LIBRARY`" in run("runs", "list")[2]
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("ATTNLAB_LIBRARY", str(tmp_path / "file"))
    status, out, err = run("train", *SMALL, "--steps", 20)
    assert status == 0
    assert out.startswith("accuracy")
    assert "not saved in the library" in err
    status, _, err = run("runs", "list")
    assert status == 1
    assert "Traceback" not in err


posix = pytest.mark.skipif(os.name != "posix", reason="links, FIFOs and limits of POSIX")


@posix
def test_a_failed_export_leaves_the_earlier_file(run, library, tmp_path):
    import resource

    kept, file = Library(library), tmp_path / "all.runs"
    for seed in range(20):
        kept.keep(result_of(SMALL_ATTENTION, seed=seed, run=run_of(SMALL_ATTENTION, seed=seed)))
    assert run("runs", "export", file)[0] == 0
    before = file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) - 1, hard))
    try:
        status, _, err = run("runs", "export", file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert status == 1
    assert "File too large" in err
    assert "written" not in err
    assert file.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"all.runs", "library"}


def test_an_equal_run_is_kept_once(run, library):
    for seed, said in ((7, ""), (8, ""), (7, "not saved in the library. Run 1 is equal.")):
        status, out, err = run("train", *SMALL, "--steps", 20, "--seed", seed)
        assert (status, "not saved" in err) == (0, bool(said))
        assert said in err
        assert out.startswith("accuracy")
    assert json.loads(run("runs", "list", "--json")[1])["count"] == 2


def test_exports_and_imports_count_what_they_left_out(run, library, tmp_path, monkeypatch):
    kept, file = Library(library), tmp_path / "all.runs"
    for seed in range(3):
        kept.keep(result_of(SMALL_ATTENTION, seed=seed, run=run_of(SMALL_ATTENTION, seed=seed)))
    run("runs", "export", file)
    model = library / "runs" / "1.run"
    model.write_bytes(model.read_bytes()[:100])
    (library / "runs" / "3.json").write_bytes(b"damaged")
    status, _, err = run("runs", "export", tmp_path / "damaged.runs", 1, 1, 2, 3)
    assert status == 1
    assert "2 runs written, 1 of them without a model, 1 damaged" in err
    assert "Run 1 is exported without its model" in err
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(tmp_path / "cut.runs", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, {"1.run": content[:-9], "3.json": b"{}"}.get(name, content))
    monkeypatch.setenv("ATTNLAB_LIBRARY", str(tmp_path / "other"))
    err = run("runs", "import", tmp_path / "cut.runs")[2]
    assert "\n2 added, 0 already there, 1 run left out, 1 model left out\n" in err


def test_many_problems_are_a_few_lines(run, library, tmp_path):
    with zipfile.ZipFile(tmp_path / "all.runs", "w") as file:
        for number in range(1, 101):
            file.writestr(f"{number}.json", b"{}")
    (library / "runs").mkdir(parents=True)
    for number in range(1, 101):
        (library / "runs" / f"{number}.json").write_bytes(b"{}")
    for action in (("import", tmp_path / "all.runs"), ("rebuild",)):
        err = run("runs", *action)[2]
        assert "attnlab: and 80 more problems like these\n" in err
        assert err.count("\n") < 50


def test_the_index_of_a_library_is_rebuilt_from_its_files(run, library, tmp_path):
    for seed in range(3):
        run("train", *SMALL, "--steps", 20, "--seed", seed)
    before = run("runs", "list", "--json")[1]
    (library / "index.sqlite").write_bytes(b"damaged" * 99)
    status, out, err = run("runs", "rebuild")
    assert (status, out) == (0, "")
    assert "3 runs found; files that could not be read: 0" in err
    assert run("runs", "list", "--json")[1] == before
    (library / "runs" / "2.json").write_text("damaged")
    status, _, err = run("runs", "rebuild")
    assert status == 1
    assert "2 runs found; files that could not be read: 1" in err
    assert "2.json is damaged" in err
    assert json.loads(run("runs", "show", 3, "--json")[1])["experiment"]["seed"] == 2


def refused_files(folder):
    """Files that nothing should be read from, with whether something can be saved to them."""
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    with open(folder / "sparse", "wb") as file:
        file.truncate(12_000_000_000)
    with open(folder / "sparse run", "wb") as file:
        file.write(b"attnlab run 2\n")
        file.truncate(12_000_000_000)
    with open(folder / "sparse runs", "wb") as file:
        file.write(b"attnlab runs 1\n")
        file.truncate(12_000_000_000)
    with open(folder / "sparse zip", "wb") as file:
        file.write(b"PK\x03\x04")
        file.truncate(12_000_000_000)
    (folder / "loop").symlink_to(folder / "loop")
    return [folder / "fifo", folder / "folder", folder / "loop", "/dev/zero"], [
        folder / "sparse", folder / "sparse run", folder / "sparse runs", folder / "sparse zip"
    ]  # fmt: skip


@posix
@pytest.mark.parametrize("command", [("train", "--load"), ("runs", "import")])
def test_what_is_no_file_of_runs_is_refused_before_it_is_read(run, library, tmp_path, command):
    special, large = refused_files(tmp_path)
    for file in (*special, *large):
        tracemalloc.start()
        status, out, err = run(*command, file)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (status, out) == (2, ""), file
        assert err.count("\n") == 1, err
        assert peak < 5_000_000, file


@posix
@pytest.mark.parametrize("name", ["fifo", "folder", "loop", "missing/my.run"])
def test_a_run_is_not_saved_to_what_is_no_file(run, tmp_path, name):
    refused_files(tmp_path)
    status, out, err = run("train", *SMALL, "--steps", 20, "--save", tmp_path / name)
    # Before it is trained.
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "`save` is" in err
    assert (tmp_path / "loop").readlink() == tmp_path / "loop"
    assert (tmp_path / "fifo").is_fifo()


# As a user who may not write there, which root always may.
WRITES = """
import os, sys
from attnlab.command_line.cli import main

if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
for file in ("read-only", "locked/new", "x" * 250):
    print(main([*sys.argv[1:], file]))
"""


@pytest.mark.slow
@posix
@pytest.mark.parametrize("command", [("train", "--save"), ("runs", "export")], ids=" ".join)
def test_an_output_file_that_cannot_be_written_is_refused_first(tmp_path, command):
    for parent in [each for each in (tmp_path, *tmp_path.parents) if "pytest-" in str(each)]:
        parent.chmod(0o755)
    for name in ("locked", "library", "open"):
        (tmp_path / name).mkdir()
    (tmp_path / "locked").chmod(0o555)
    (tmp_path / "library").chmod(0o777)
    (tmp_path / "read-only").write_text("before")
    (tmp_path / "read-only").chmod(0o444)
    tmp_path.chmod(0o777)
    done = subprocess.run(
        [sys.executable, "-c", WRITES, *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "ATTNLAB_LIBRARY": str(tmp_path / "library")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    option = command[1].removeprefix("--").replace("export", "file")
    assert done.stdout.split() == ["2", "2", "2"], done.stderr
    lines = done.stderr.splitlines()
    assert [line.startswith(f"attnlab: `{option}` is ") for line in lines] == [True] * 3
    assert (tmp_path / "read-only").read_text() == "before"


@posix
def test_results_are_printed_and_kept_although_the_disk_is_full(run, library, tmp_path):
    import resource

    file = tmp_path / "my.run"
    assert run("train", *SMALL, "--steps", 20)[0] == 0
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for command, name in (
        (("train", *SMALL, "--steps", 20, "--save"), "save"),
        (("runs", "export"), "file"),
    ):
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, hard))
        try:
            status, out, err = run(*command, file)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        (line,) = [line for line in err.splitlines() if line.startswith("attnlab: `")]
        assert status == 1
        assert f"`{name}` is " in line
        assert "nothing was saved" in line
        assert not file.exists()
        assert ("accuracy" in out) == (name == "save")


@posix
@pytest.mark.parametrize("is_there", [True, False])
def test_a_run_is_saved_through_links(run, library, tmp_path, is_there):
    file, link, other = (tmp_path / name for name in ("my.run", "link", "other"))
    if is_there:
        file.write_text("before")
    link.symlink_to("my.run")
    other.symlink_to(link)
    assert run("train", *SMALL, "--steps", 20, "--save", other)[0] == 0
    assert link.is_symlink()
    assert other.is_symlink()
    assert int(load_run(file).state.step) == 20
    assert run("runs", "export", other)[0] == 0
    assert other.is_symlink()
    assert file.read_bytes().startswith(b"PK")


@pytest.mark.parametrize("flag", ["text", "generator", "model", "tag"])
@pytest.mark.parametrize("value", ["x " * 1_001, "\udcff"])
def test_what_cannot_be_looked_for_is_refused_in_one_line(run, library, flag, value):
    status, out, err = run("runs", "list", f"--{flag}", value)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"attnlab: `{flag}` is ")


@pytest.mark.slow
@pytest.mark.parametrize("warm_up", [0.1, 0.5])
def test_a_scheduled_rate_that_moves_back_is_reported(run, library, tmp_path, warm_up):
    file = tmp_path / "half.run"
    scheduled = ("--schedule", "warm-up-cosine", "--warm-up", warm_up, "--learning-rate", "0.02")
    run("train", *SMALL, *scheduled, "--steps", 20, "--save", file)
    err = run("train", "--load", file, "--steps", 80)[2]
    (line,) = [line for line in err.splitlines() if "warm-up-cosine" in line]

    def rate(made, steps):
        """Linear to 1 at `warm_up`, then half a cosine to 0."""
        done = (made + 1) / (steps + 1)
        if done < warm_up:
            return 0.02 * done / warm_up
        return 0.01 * (1 + math.cos(math.pi * (done - warm_up) / (1 - warm_up)))

    assert f"from {rate(19, 20):.3g} to {rate(20, 80):.3g} at step 20" in line
    # The same settings without a schedule change nothing.
    run("train", *SMALL, "--steps", 20, "--save", file)
    assert "learning rate" not in run("train", "--load", file, "--steps", 40)[2]
