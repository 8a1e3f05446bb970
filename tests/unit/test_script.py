"""Scripts that repeat an experiment with attnlab alone."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest

import attnlab
from attnlab.configuration.number_text import show_measured
from attnlab.generators import Custom, Recall
from attnlab.runs.script import to_script
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS
from tests.unit.live_runs import finished, paused_after
from tests.unit.scripts import experiment_of
from tests.unit.small_experiments import SMALL, SMALL_MODELS, small
from tests.unit.test_experiment_json import configurations
from tests.unit.test_links import CASES as LINKED

_ROOT = Path(attnlab.__file__).parents[1]


def printed_by(script, tmp_path):
    file = tmp_path / "experiment.py"
    file.write_text(script, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(_ROOT), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, file], env=environment, cwd=tmp_path, capture_output=True, check=True
    )
    return done.stdout.decode().splitlines()


CASES = [
    *LINKED.values(),
    Experiment(generator=Recall(days=(1, 20), horizon=30), length=30),
    Experiment(generator=Recall(days=(3,))),
    Experiment(generator=Custom(symbols="a' b\" \\", table=((0.1, 0.2, 0.7),) * 3)),
]


@pytest.mark.parametrize("experiment", CASES)
def test_the_script_makes_the_same_experiment(experiment):
    assert experiment_of(to_script(experiment)) == experiment


@pytest.mark.slow
@pytest.mark.usefixtures("as_users_run")
@hypothesis.given(experiment=configurations(Experiment))
@hypothesis.settings(
    max_examples=30,
    suppress_health_check=[
        # The fixture only switches the shape checks off, for all examples alike.
        hypothesis.HealthCheck.function_scoped_fixture,
        # Half of all losses and batches do not go together and are drawn again.
        hypothesis.HealthCheck.filter_too_much,
    ],
)
def test_any_experiment_survives_its_script(experiment):
    assert experiment_of(to_script(experiment)) == experiment


def test_a_script_names_only_what_differs_from_the_defaults():
    script = to_script(PRESETS["published-dotmod-linear"].experiment)
    (assignment,) = (
        node
        for node in ast.parse(script).body
        if isinstance(node, ast.Assign) and node.targets[0].id == "experiment"
    )
    named = {node.arg for node in ast.walk(assignment) if isinstance(node, ast.keyword)}
    assert named == {
        "generator", "variant", "model", "initialisation", "day_feature", "training",
        "learning_rate", "batch_mode",
    }  # fmt: skip
    assert max(map(len, script.splitlines())) < 100
    assert "version" not in script


def test_a_script_imports_attnlab_alone():
    for experiment in CASES:
        for node in ast.walk(ast.parse(to_script(experiment))):
            assert not isinstance(node, ast.Import)
            if isinstance(node, ast.ImportFrom):
                assert node.module.split(".")[0] == "attnlab"


# Scripts of other families differ only in the options; a model with a source has another test.
TRAINED = {name: SMALL_MODELS[name] for name in ("linear", "transformer", "gru", "rnn-bottleneck")}


@pytest.mark.slow
@pytest.mark.parametrize("experiment", TRAINED.values(), ids=TRAINED)
def test_a_script_prints_the_figures_of_the_live_run(experiment, live, capsys):
    snapshot = finished(live(experiment))
    test = snapshot.latest.evaluation
    # The last line is ours: not only the digits shown are the same, but every one.
    exec(to_script(experiment) + "print(*map(repr, test[:4]))\n", {})
    assert capsys.readouterr().out.splitlines() == [
        f"step {experiment.training.steps}",
        f"test accuracy {show_measured(test.accuracy, test.accuracy_stderr)}",
        f"test loss (nats) {show_measured(test.nll, test.nll_stderr)}",
        " ".join(map(repr, test[:4])),
    ]


@pytest.mark.slow
def test_a_script_repeats_the_changes_of_a_run(live, tmp_path):
    run = live()
    paused_after(run, 3)
    run.amend(small(learning_rate=0.05, batch=30))
    paused_after(run, 4)
    run.amend(small(learning_rate=0.05, batch=30, steps=9))
    snapshot = finished(run)
    script = to_script(snapshot.experiment, snapshot.history.changes)
    assert experiment_of(script) == SMALL
    printed = printed_by(script + "print(*map(repr, test[:4]))\n", tmp_path)
    assert printed[0] == "step 9"
    assert printed[-1] == " ".join(map(repr, snapshot.latest.evaluation[:4]))
