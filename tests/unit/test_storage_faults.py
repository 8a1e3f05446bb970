"""Saving run files when things go wrong: kills, full disks, missing folders."""

import os
import signal
import stat
import subprocess
import sys
import time

import pytest

from attnlab.runs.storage import load_run, save_run, to_bytes
from tests.unit.kept_results import run_of
from tests.unit.small_experiments import SMALL

PATIENCE = 120.0
# Without the shape checks, which would refuse some damage before attnlab has to.
pytestmark = pytest.mark.usefixtures("as_users_run")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")


@pytest.fixture(scope="module")
def runs():
    return run_of(SMALL, seed=1), run_of(SMALL, seed=2)


# Saves the second run over the first until it is killed: by itself at a chosen call, or from
# outside while it goes on.
SAVES_UNTIL_KILLED = """
import os, signal, sys
from pathlib import Path
from attnlab.runs.storage import load_run, save_run

folder, moment = Path(sys.argv[1]), sys.argv[2]
first, second = load_run(folder / "first"), load_run(folder / "second")
save_run(first, folder / "target")
die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
if moment == "half written":
    import attnlab.runs.whole_file as storage
    real = storage.open if hasattr(storage, "open") else open
    def half(path, mode):
        file = real(path, mode)
        class Half:
            def __enter__(self): return self
            def __exit__(self, *_): pass
            def write(self, data):
                file.write(data[: len(data) // 2])
                file.flush()
                die()
        return Half()
    storage.open = half
elif moment != "any":
    setattr(os, moment, die)
print("ready", flush=True)
while True:
    save_run(second, folder / "target")
    save_run(first, folder / "target")
"""


@pytest.mark.slow
@posix
def test_a_server_killed_while_it_saves_leaves_one_whole_version(runs, tmp_path):
    expected = {to_bytes(run) for run in runs}
    children = []
    for name in ("half written", "fsync", "replace", "any"):
        folder = tmp_path / str(len(children))
        folder.mkdir()
        save_run(runs[0], folder / "first")
        save_run(runs[1], folder / "second")
        command = [sys.executable, "-c", SAVES_UNTIL_KILLED, str(folder), name]
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        children.append((name, folder, child))
    for number, (name, folder, child) in enumerate(children):
        with child:
            assert child.stdout.readline() == b"ready\n", name
            if name == "any":
                time.sleep(0.05 * number)
                child.kill()
            assert child.wait(PATIENCE) == -signal.SIGKILL, name
        assert (folder / "target").read_bytes() in expected, name
        # The next save succeeds.
        save_run(runs[1], folder / "target")
        assert load_run(folder / "target").experiment == runs[1].experiment


@posix
def test_a_full_disk_leaves_the_old_file_and_says_so(runs, tmp_path):
    import resource

    path = tmp_path / "mine.run"
    save_run(runs[0], path)
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, hard))
    try:
        with pytest.raises(OSError, match="nothing was saved") as caught:
            save_run(runs[1], path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.filename == str(path)
    assert "File too large" in str(caught.value)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine.run"]


def test_a_folder_that_is_not_there_is_named(runs, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing was saved.*nowhere"):
        save_run(runs[0], tmp_path / "nowhere" / "mine.run")


@posix
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_saved_file_has_the_rights_of_any_new_file(runs, tmp_path, mask, mode):
    path = tmp_path / "mine.run"
    before = os.umask(mask)
    try:
        save_run(runs[0], path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode
