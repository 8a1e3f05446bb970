"""Saving and reading run files when things go wrong: kills, full disks, any bytes at all."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
import tracemalloc

import hypothesis
import jax
import numpy as np
import pytest
from hypothesis import strategies as st

from attnlab.runs.history import empty_history
from attnlab.runs.storage import Run, RunFileError, from_bytes, load_run, save_run, to_bytes
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import prepare
from attnlab.training.steps import advance
from tests.unit.run_file_edits import REMEDIES, VERSIONS, in_version, joined, parts_of
from tests.unit.small_experiments import SMALL, small

PATIENCE = 120.0
# Without the shape checks, which would refuse some damage before attnlab has to.
pytestmark = pytest.mark.usefixtures("as_users_run")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")


def trained(seed):
    experiment = small(SMALL, seed=seed)
    setup = prepare(experiment)
    state, losses = advance(setup.state, setup.source, experiment.training, key=setup.key, steps=3)
    history = empty_history().with_losses(losses.nll)
    history = history.with_test(0, evaluate(setup.state.model, setup.test, readout="last"))
    return Run(experiment, state, history.with_checkpoint(0, setup.state.model))


@pytest.fixture(scope="module")
def runs():
    return trained(seed=1), trained(seed=2)


@pytest.fixture(scope="module")
def data(runs):
    return to_bytes(runs[0])


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
    for name in ("half written", "fsync", "replace", "any", "any"):
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
        # And whoever comes next can save again.
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


def places_in(value, path=()):
    """The path to every part of a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        items = enumerate(value)
    for key, part in items:
        yield from places_in(part, (*path, key))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, -1, 3, 10**9, -(2**63), 2**70, 10**400, 1e308, -0.0, 1e-320])
    | st.floats(allow_nan=True)
    | st.sampled_from(["", "state 0", "losses", "<f4", "<f8", "|O", "markov", "linear", "dotmod"])
    | st.text(max_size=5),
    lambda part: (
        st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=5), part, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def headers_with_another_part(draw, header):
    """The header with one to three of its parts replaced, taken away or doubled."""
    header = json.loads(json.dumps(header))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([p for p in places_in(header) if p]))
        parent = header
        for key in path[:-1]:
            parent = parent[key]
        how = draw(st.sampled_from(["replace", "remove", "double"]))
        if how == "replace":
            parent[path[-1]] = draw(JSON)
        elif how == "double" and isinstance(parent, list):
            parent.insert(path[-1], parent[path[-1]])
        else:
            del parent[path[-1]]
    return header


@st.composite
def malformed(draw, data):
    """A run file after an accident, or in the hands of somebody who means harm."""
    version = draw(st.sampled_from(VERSIONS))
    data = in_version(version, data)
    _, header, payload = parts_of(data)
    how = draw(st.sampled_from(["header", "header", "payload", "splice", "noise"]))
    if how == "header":
        return joined(version, draw(headers_with_another_part(header)), payload)
    if how == "payload":
        start = draw(st.integers(0, len(payload) // 4 - 1)) * 4
        numbers = draw(st.lists(st.floats(width=32), min_size=1, max_size=8))
        patch = np.array(numbers, dtype="<f4").tobytes()
        spoiled = payload[:start] + patch + payload[start + len(patch) :]
        return joined(version, header, spoiled)
    if how == "splice":
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, len(data)))
        return data[:start] + draw(st.binary(max_size=40)) + data[end:]
    return draw(st.sampled_from([b"", b"attnlab run 1\n", b"attnlab run 2\n", bytes(8)])) + draw(
        st.binary(max_size=200)
    )


@pytest.mark.slow
@hypothesis.given(draws=st.data())
@hypothesis.settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    # The fixtures are the same for all examples.
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
def test_any_file_is_a_valid_run_or_refused_with_a_remedy(data, draws):
    file = draws.draw(malformed(data))
    tracemalloc.start()
    try:
        run, refusal = from_bytes(file), ""
    except RunFileError as error:
        run, refusal = None, str(error)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # JSON as Python objects is larger than its text, and arrays are copied once or twice.
    assert peak < 40 * len(file) + 2_000_000
    if run is None:
        assert refusal.endswith(REMEDIES)
        return
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(run.state))
    assert run.history.losses.shape == (int(run.state.step),)
    assert int(run.state.step) <= run.experiment.training.steps
    again = from_bytes(to_bytes(run))
    assert again.experiment == run.experiment
    assert again.history.tests == run.history.tests


def test_the_property_above_sees_both_kinds_of_file(data):
    kinds = set()

    @hypothesis.given(malformed(data))
    @hypothesis.settings(max_examples=200, deadline=None, derandomize=True, database=None)
    def look(file):
        try:
            from_bytes(file)
            kinds.add("accepted")
        except RunFileError:
            kinds.add("refused")

    look()
    assert kinds == {"accepted", "refused"}
