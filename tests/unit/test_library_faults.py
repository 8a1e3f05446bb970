"""The library when programs are killed, disks are full, and others read or write it at once."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from attnlab.runs.library import Library, LibraryError, Query
from attnlab.runs.storage import save_run, to_bytes
from tests.unit.kept_results import result_of, run_files, run_of

PATIENCE = 120.0
posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")
# Without the type checks, which would refuse some damage before attnlab has to.
pytestmark = pytest.mark.usefixtures("as_users_run")


# Keeps results with and without models until it is killed: by itself at a chosen call, or from
# outside. Says the number of each when it is kept.
KEEPS = """
import os, signal, sys
from pathlib import Path
import attnlab.runs.library.files as place
from attnlab.runs.library import Library
from attnlab.runs.run_summary import RunSummary
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
    if i == 5 and moment == "summary":
        write = place.write_part
        place.write_part = lambda data, path, **rest: (
            die() if path.suffix == ".json" else write(data, path, **rest)
        )
    number = library.keep(RunSummary(run.experiment, "done", steps=i, run=run), name=moment)
    print(number, flush=True)
"""


def keeping(folder, moment, most=0):
    command = [sys.executable, "-c", KEEPS, str(folder), moment, str(most)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)


@pytest.mark.slow
@posix
def test_a_program_killed_while_it_keeps_loses_nothing_finished(tmp_path):
    children = []
    for moment in ("any", "fsync", "replace", "summary"):
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
        assert [entry.steps for entry in entries] == [number - 1 for number in kept]
        assert {to_bytes(library.run_of(number)) for number in kept[-9:]} == {to_bytes(run_of())}
        assert library.problems() == ()
        # What is left over of the last one goes an hour later, and the next program can keep.
        left = [path for path in (folder / "library" / "runs").iterdir() if path.suffix == ".part"]
        assert moment == "any" or left
        library = Library(folder / "library", clock=lambda: datetime.now(UTC) + timedelta(hours=2))
        assert len(list((folder / "library" / "runs").iterdir())) == 2 * len(kept)
        assert library.keep(result_of()) > kept[-1]


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
        steps = [entry.steps for entry in library.entries(Query(text=name), most=200)]
        assert set(steps) == set(range(20))
    assert len(run_files(tmp_path / "library")) == 60


def test_a_full_disk_is_named_and_changes_nothing(library, tmp_path, monkeypatch):
    first = library.keep(result_of(state="interrupted", run=run_of(fill=0.1)))

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LibraryError, match=r"No space left on device\. Check that") as caught:
        library.keep(result_of(run=run_of(fill=0.2)), number=first)
    assert caught.value.errno == errno.ENOSPC
    monkeypatch.undo()
    assert library.entry(first).state == "interrupted"
    assert to_bytes(library.run_of(first)) == to_bytes(run_of(fill=0.1))
    assert len(run_files(tmp_path)) == 1
    assert library.keep(result_of(run=run_of(fill=0.2)), number=first) == first


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a small disk of its own; None where none can be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = "mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk
    mounted = not subprocess.run(mount, capture_output=True, check=False).returncode
    yield disk if mounted else None
    if mounted:
        subprocess.run(["umount", "-l", disk], check=True)


@posix
def test_space_is_freed_on_a_disk_that_has_none(run, small_disk, tmp_path, monkeypatch):
    folder = (small_disk or tmp_path) / "library"
    monkeypatch.setenv("ATTNLAB_LIBRARY", str(folder))
    library = Library(folder)
    for seed in range(6):
        library.keep(result_of(seed=seed))
    library.delete([1])
    with monkeypatch.context() as full:
        if small_disk is None:
            full.setattr("attnlab.runs.library.files.write_part", no_space_for_a_file)
        else:
            with suppress(OSError), open(small_disk / "rest", "wb", buffering=0) as file:
                while True:
                    file.write(bytes(512))
        for change, action in (
            (lambda: library.keep(result_of()), "save a run"),
            (lambda: library.describe(2, name="x"), "change the name of a run"),
            (lambda: library.restore([1]), "restore a run"),
        ):
            with pytest.raises(LibraryError, match=f"could not {action}: No space left"):
                change()
        status, _, err = run("runs", "delete", 2)
        assert status == 1
        assert "could not delete a run: No space left on device. " in err
        # What the message says to do.
        assert "`attnlab runs empty-bin` and `attnlab runs delete --for-good` work" in err
        assert run("runs", "empty-bin") == (0, "", "1 deleted permanently\n")
        assert run("runs", "delete", "--for-good", 2, 3) == (0, "", "2 deleted permanently\n")
        assert {path.stem for path in (folder / "runs").iterdir()} == {"4", "5", "6"}
    if small_disk is not None:
        (small_disk / "rest").unlink()
    library = Library(folder)
    assert (library.count(), library.count(Query(deleted=True))) == (3, 0)
    assert library.keep(result_of()) == 7


def no_space_for_a_file(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.slow
@posix
def test_a_limit_on_the_size_of_files_is_a_full_disk(library, tmp_path):
    import resource

    library.keep(result_of(run=run_of()), name="kept")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Less than a model.
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, hard))
    try:
        with pytest.raises(LibraryError, match="Check that its disk has space"):
            library.keep(result_of(seed=1, run=run_of(seed=1)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    before = library.count()
    assert len(run_files(tmp_path)) == before
    assert library.keep(result_of()) > before
    assert library.rebuild() == before + 1
    assert library.entry(1).name == "kept"


def test_a_library_that_another_program_writes_is_refused_in_words(tmp_path):
    library = Library(tmp_path, patience=0.05)
    library.keep(result_of(run=run_of()), name="kept")
    other = os.open(tmp_path / "lock", os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX)
    for change in (
        lambda: library.keep(result_of(run=run_of())),
        lambda: library.describe(1, name="x"),
        lambda: library.delete([1]),
        lambda: library.take_in(library.export([1])),
    ):
        with pytest.raises(LibraryError, match=r"is being written by another program\. Try again"):
            change()
    # Neither reading nor opening waits.
    assert library.entries()[0].name == "kept"
    Library(tmp_path, patience=0.05)
    os.close(other)
    assert library.keep(result_of()) == 2
    assert len(run_files(tmp_path)) == 1


# As a user who may not write there, which root always may.
READS = """
import encodings.cp437, os, sys
from pathlib import Path
from attnlab.runs.library import Library, LibraryError
from attnlab.runs.run_summary import RunSummary

if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
library = Library(Path(sys.argv[1]))
(entry,) = library.entries()
print(entry.name, library.run_of(1).experiment == entry.experiment, library.size() > 0)
assert library.find(entry.experiment) is not None
for change in (
    lambda: library.keep(entry),
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
    assert {path.name for path in folder.iterdir()} == {"lock", "runs"}
