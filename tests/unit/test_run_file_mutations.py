"""Any file is a run or refused, within little memory and time."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attnlab.generators import Recall
from attnlab.runs.storage import from_bytes
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import prepare

# Three steps, then another rate; a fourth, then another
# batch and number of steps; and on to the end.
WITH_CHANGES = Path(__file__).parents[1] / "data" / "frozen" / "with_changes.run"
LOSSES = [1.89058590, 2.13227916, 1.46096253, 1.64271474, 1.40544236, 1.20137167, 1.21996367,
          1.12818277, 1.17963040]  # fmt: skip
PATIENCE = 280.0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits and figures of Linux")
def test_any_file_is_a_run_or_refused_within_little_memory_and_time():
    command = [sys.executable, "-m", "tests.unit.run_file_mutations", str(WITH_CHANGES)]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        command, cwd=root, capture_output=True, encoding="utf-8", timeout=PATIENCE
    )
    *names, last = done.stdout.splitlines()
    assert done.returncode == 0, f"{last}\n{done.stderr[-2_000:]}"
    counts = json.loads(last)
    assert counts["runs"] + counts["refused"] == len(names)
    assert min(counts.values()) > 50
    assert any("('checkpoints',)" in name and "value=0, times=200000" in name for name in names)


@pytest.mark.slow
def test_a_file_with_changes_opens_with_the_same_figures():
    run = from_bytes(WITH_CHANGES.read_bytes())
    experiment, history = run.experiment, run.history
    assert (experiment.generator.name, experiment.seed) == ("recall", 11)
    assert experiment.generator == Recall(days=(1, 2)).at_length(4)
    assert [str(change) for change in history.changes] == [
        "learning rate 0.005 → 0.02",
        "batch 20 → 30, steps 6 → 9",
    ]
    assert [change.step for change in history.changes] == [3, 4]
    np.testing.assert_allclose(history.losses, LOSSES, rtol=1e-7)
    assert [step for step, _ in history.tests] == list(range(10))
    assert [step for step, _ in history.checkpoints] == [0, 1, 2, 3, 4, 5, 7, 9]
    assert int(run.state.step) == 9
    # Every weight is in its place: the models give the figures of the tests.
    sequences, tests = prepare(experiment).test, dict(history.tests)
    for step, model in (*history.checkpoints, (9, run.state.model)):
        found = evaluate(model, sequences, readout="last")
        nll, nll_stderr, *accuracy = tests[step][:4]
        # Its error is now from the sample variance.
        stderr = nll_stderr * np.sqrt(len(sequences) / (len(sequences) - 1))
        np.testing.assert_allclose(found[:4], (nll, stderr, *accuracy), rtol=1e-5)
