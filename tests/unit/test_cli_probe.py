"""`python -m attnlab probe`: R² of the exact belief at every site, as text and as JSON."""

import json

import pytest

from attnlab.command_line import measure_command
from attnlab.command_line.cli import main
from attnlab.generators import Mess3
from attnlab.inspection import BeliefGap
from attnlab.optimum import entropy_rate

pytestmark = pytest.mark.usefixtures("quickly_compiled")
SMALL = (
    "--generator", "mess3", "--length", "4", "--model", "gru", "--hidden-size", "8", "--loss",
    "next", "--steps", "5", "--batch", "20", "--test-size", "100", "--data", "fresh",
)  # fmt: skip


@pytest.mark.slow
def test_a_trained_and_a_saved_run_are_probed_alike(capsys, tmp_path, monkeypatch):
    file = str(tmp_path / "run.attnlab")
    assert main(("train", *SMALL, "--save", file)) == 0
    capsys.readouterr()
    assert main(("probe", *SMALL, "--json")) == 0
    report = json.loads(capsys.readouterr().out)
    (site,) = report["sites"]
    assert (site["site"], site["layer"]) == ("state", None)
    assert site["r2_low"] < site["r2"] < site["r2_high"] <= 1
    assert len(site["by_position"]) == 4
    assert site["next_token_r2"] == pytest.approx(1, abs=1e-6)
    assert 0.5 < site["last_token_r2"] < 1
    assert 0 < site["untrained_r2"] < 1
    # There is one site only.
    assert report["all_sites"]["untrained_r2"] == pytest.approx(site["untrained_r2"])
    assert 0.9 < report["repeated_pasts"] <= 1
    gap = report["gap"]
    assert gap["gap"] == pytest.approx(gap["not_represented"] + gap["not_used"])
    assert main(("probe", "--load", file, "--json")) == 0
    assert json.loads(capsys.readouterr().out) == report
    assert main(("probe", "--load", file, "--target", "last token")) == 0
    assert "last token alone: R² 1.000" in capsys.readouterr().out
    better = BeliefGap(0.5, 0.01, 0.001, 0.03, 0.001, -0.02, 0.001)
    monkeypatch.setattr(measure_command, "belief_gap", lambda *_: better)
    assert main(("probe", "--load", file)) == 0
    out = capsys.readouterr().out
    untrained = f"untrained {site['untrained_r2']:.3f}"
    assert [line.endswith(untrained) for line in out.splitlines()[:3]] == [True, True, False]
    assert "the model predicts better than the probed belief" in out


@pytest.mark.slow
def test_layers_are_numbers_and_what_is_not_defined_is_null(capsys):
    """The last token of a process that only says `a` is constant."""
    small = ("--layers", "1", "--heads", "1", "--d-model", "4", "--mlp-width", "4", *SMALL[2:4])
    only_a = ("--generator", "hidden-chain", "--symbols", "a b", "--table", "1 0 0 0; 0 1 0 0")
    made = ("--steps", "2", "--batch", "20", "--test-size", "100", "--target", "last token")
    assert main(("probe", "--preset", "mess3-belief", *small, *only_a, *made, "--json")) == 0
    report = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    layers = {each["site"]: each["layer"] for each in report["sites"]}
    assert layers == {"embedding": None, "attention.0": 0, "mlp.0": 0, "final": None}
    assert report["sites"][0]["r2"] is report["controls"]["shuffled target"] is None


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--generator", "markov"), "`process` is 'markov'"),
        (("--load", "missing.run"), "`load` is 'missing.run'"),
        (("--load", "missing.run", "--steps", "5"), "`steps` is '5'"),
        (("--preset", "missing"), "`preset` is 'missing'"),
    ],
)
def test_what_cannot_be_probed_is_refused_before_training(capsys, arguments, named):
    assert main(("probe", *arguments)) == 2
    assert named in capsys.readouterr().err


def test_the_optimum_of_a_hidden_markov_process_has_its_entropy_rate(capsys):
    assert main(("optimum", "mess3", "--length", "4", "--json")) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["entropy_rate"] == entropy_rate(Mess3())._asdict()
    assert [round(day["nll"], 4) for day in report["per_day"]][:3] == [1.0986, 0.8577, 0.8134]
