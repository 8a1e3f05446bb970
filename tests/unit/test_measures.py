"""Measures: the registry against results computed otherwise, and one of a user's own file."""

import json
import math
import re
import textwrap

import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.command_line.cli import main
from attnlab.configuration.options import OptionError
from attnlab.inspection import MEASURES, estimates_of, head_scores, measure_of, measures_for
from attnlab.models import LinearOptions
from attnlab.registering import register, unregister
from attnlab.runs.run_summary import FIGURES
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.measure import OWN_MEASURES, Estimate, Measure
from tests.unit.small_experiments import SMALL, SMALL_MODELS, small

pytestmark = pytest.mark.usefixtures("quickly_compiled")
# Every place in which a measure of one's own shall be seen takes it from this file.
OWN = '''
    """The largest weight of a model."""

    import jax

    from attnlab import Estimate, Measure, register


    def largest_weight(model, setup):
        return Estimate(max(float(abs(w).max()) for w in jax.tree.leaves(model)), 0.5)


    register(
        Measure(
            "largest_weight",
            largest_weight,
            label="largest weight",
            unit="weight",
            summary="the largest absolute value of a weight",
        )
    )
'''
ARGUMENTS = (
    "--length", "4", "--d-attn", "2", "--steps", "4", "--train-size", "100", "--test-size", "100",
)  # fmt: skip


@pytest.fixture
def own(tmp_path, monkeypatch):
    path = tmp_path / "my_measure.py"
    path.write_text(textwrap.dedent(OWN))
    assert len(path.read_text().strip().splitlines()) <= 25
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    yield path
    for name in list(OWN_MEASURES):
        unregister(OWN_MEASURES[name])


def printed(capsys, *arguments):
    assert main(arguments) == 0
    return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def test_every_result_of_a_run_is_a_measure():
    assert set(FIGURES) <= set(MEASURES)
    for name, measure in MEASURES.items():
        assert (measure.name, bool(measure.summary)) == (name, True)
        assert measure.title.startswith(measure.label)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_every_measure_of_every_family_is_finite_or_not_defined(name):
    experiment = (
        small(SMALL_MODELS[name], loss="next") if name == "attention" else SMALL_MODELS[name]
    )
    setup = prepare(experiment)
    names = measures_for([experiment])
    found = estimates_of(setup.state.model, setup, names)
    assert {"accuracy", "nll", "learned"} <= found.keys() <= set(names)
    for value, stderr in found.values():
        assert math.isfinite(value)
        assert math.isnan(stderr) or 0 <= stderr < math.inf


def test_accuracy_and_loss_are_those_of_the_test_set_counted_by_hand():
    setup = prepare(small(SMALL, seed=5))
    model, test = setup.state.model, np.asarray(setup.test)
    read = jnp.array([test.shape[1] - 2])
    rows = [model(jnp.asarray(tokens[:-1]), read)[0][0] for tokens in test]
    logits = np.array(rows, np.float64)
    log_probs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    nll = -log_probs[np.arange(len(test)), test[:, -1]]
    found = estimates_of(model, setup, ["accuracy", "nll"])
    assert found["accuracy"].value == np.mean(logits.argmax(axis=1) == test[:, -1])
    error = nll.std(ddof=1) / np.sqrt(len(nll))
    assert found["nll"] == pytest.approx((nll.mean(), error), rel=1e-5)


def test_the_prefix_match_is_that_of_the_best_head():
    experiment = small(SMALL, loss="next")
    setup = prepare(experiment)
    heads = head_scores(experiment.generator, setup.state.model, np.asarray(setup.test))
    best = max(heads, key=lambda head: head.prefix_match)
    found = estimates_of(setup.state.model, setup, ["prefix_match"])["prefix_match"]
    assert found == (best.prefix_match, best.prefix_match_stderr)


@pytest.mark.parametrize(
    ("name", "problem"),
    [("accuracy", "another measure has it"), ("My measure", "not lower-case letters")],
)
def test_a_name_that_is_taken_or_odd_is_refused(name, problem):
    with pytest.raises(OptionError, match=problem):
        register(Measure(name, lambda model, setup: 1.0, label="x"))
    assert not OWN_MEASURES


def test_a_number_is_an_estimate_without_error_and_what_is_not_finite_is_left_out():
    setup = prepare(SMALL)
    model = setup.state.model
    value, stderr = Measure("one", lambda model, setup: 1, label="one").estimate(model, setup)
    assert (value, math.isnan(stderr)) == (1.0, True)
    for value in (None, math.nan, math.inf, Estimate(math.nan, 0.1)):
        assert Measure("x", lambda m, s, v=value: v, label="x").estimate(model, setup) is None


@pytest.mark.slow
def test_a_measure_of_ones_own_file_is_in_every_command(own, capsys, monkeypatch):
    monkeypatch.setenv("ATTNLAB_LIBRARY", "off")
    module = ("--module", str(own))
    assert main(("measure", "--list", *module)) == 0
    (line,) = [each for each in capsys.readouterr().out.splitlines() if "largest_weight" in each]
    assert (
        line == "largest_weight  largest weight (weight): the largest absolute value of a weight."
    )
    report = printed(capsys, "measure", "largest_weight", *ARGUMENTS, *module, "--json")
    (row,) = report["measures"]
    assert (row["name"], row["step"], row["stderr"]) == ("largest_weight", 4, 0.5)
    every = ("measure", "largest_weight", "--over-training", *ARGUMENTS, *module, "--json")
    rows = printed(capsys, *every)["measures"]
    assert [each["step"] for each in rows] == [0, 1, 2, 3, 4]
    assert rows[-1]["value"] == row["value"]
    trained = printed(capsys, "train", *ARGUMENTS, *module, "--json")["measures"]
    assert {"name": "largest_weight", "value": row["value"], "stderr": 0.5} in trained
    compared = printed(
        capsys, "compare", "--metrics", "largest_weight", "--seeds", "1", *ARGUMENTS, *module,
        "--json",
    )  # fmt: skip
    (setting,) = compared["rows"]
    assert setting["metrics"]["largest_weight"]["mean"] == pytest.approx(row["value"])


@pytest.mark.slow
def test_a_loaded_run_is_measured_at_every_kept_step(capsys, tmp_path):
    file = str(tmp_path / "a.run")
    assert main(("train", *ARGUMENTS, "--save", file)) == 0
    capsys.readouterr()
    loaded = printed(capsys, "measure", "nll", "--load", file, "--over-training", "--json")
    trained = printed(capsys, "measure", "nll", *ARGUMENTS, "--over-training", "--json")
    assert loaded == trained
    assert main(("measure", "nll", "--load", file)) == 0
    assert capsys.readouterr().out.startswith("nll  ")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["acuracy"], "`names` is 'acuracy': not a measure. Choose .*'accuracy'"),
        (["exact_match"], "`names` is 'exact_match': not defined here. It needs a task"),
    ],
)
def test_a_measure_that_is_not_there_is_named_before_training(names, message, capsys):
    assert main(("measure", *names, *ARGUMENTS)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.search(message, captured.err), captured.err


def test_site_names_are_measures_of_their_own():
    measure = measure_of("belief_r2:mlp.0")
    assert (measure.name, measure.label) == ("belief_r2:mlp.0", "R² of the belief, MLP 1")
    assert measure_of("accuracy:mlp.0") is None
    assert measures_for([Experiment(model=LinearOptions())]).count("accuracy") == 1
    assert "prefix_match" in measures_for([small(SMALL, loss="next")])
