"""The command line: results on standard output, everything else elsewhere."""

import json

import pytest

from attnlab.configuration.options import OptionError
from attnlab.configuration.records import to_record
from attnlab.generators import GENERATORS
from attnlab.training.experiment import from_json_record
from attnlab.training.presets import PRESETS

QUICK = ("train", "--json", "--length", "4", "--steps", "20", "--batch", "20", "--train-size",
         "200", "--test-size", "100", "--d-attn", "2", "--d-model", "2")  # fmt: skip

pytestmark = pytest.mark.usefixtures("as_users_run")


@pytest.mark.slow
def test_train_prints_one_json_object_and_progress_elsewhere(run):
    status, out, err = run(*QUICK)
    assert status == 0
    assert out.count("\n") == 1
    report = json.loads(out)
    assert report.keys() >= {
        "test_accuracy", "test_accuracy_stderr", "test_nll", "test_nll_stderr", "steps", "seconds",
        "steps_per_second", "parameters", "experiment",
    }  # fmt: skip
    assert report["steps"] == 20
    assert report["parameters"] == 6 * 7 + 4 * 2
    assert 0 <= report["test_accuracy"] <= 1
    assert report["test_accuracy_stderr"] > 0
    assert report["steps_per_second"] == pytest.approx(20 / report["seconds"])
    assert "step 20 of 20" in err
    experiment = from_json_record(report["experiment"])
    assert (experiment.length, experiment.training.steps, experiment.model.d_attn) == (4, 20, 2)


@pytest.mark.slow
def test_what_heads_look_at_and_the_floor_by_position_are_reported(run):
    process = ("--preset", "induction", "--letters", "3", "--length", "7")
    small = ("--steps", "3", "--batch", "10", "--test-size", "100")
    status, out, _ = run("train", "--json", *process, *small)
    assert status == 0
    report = json.loads(out)
    assert [(each["layer"], each["head"]) for each in report["head_scores"]] == [
        (1, 1), (1, 2), (2, 1), (2, 2)
    ]  # fmt: skip
    for each in report["head_scores"]:
        for share in ("prefix_match", "previous_token", "true_sources"):
            assert 0 < each[share] < 1
    # From the second repeated letter on. The period is 2, 3 or 4 tokens.
    rows = report["per_position"]
    assert [each["position"] for each in rows] == [5, 6, 7]
    assert [each["nll"] for each in rows] == report["test_nll_by_position"]["nll"]
    assert all(0 <= each["floor"] < 0.2 < each["nll"] for each in rows)
    assert all("floor_stderr" not in each for each in rows)


def test_train_without_json_is_for_people(run):
    status, out, _ = run(*(part for part in QUICK if part != "--json"))
    assert status == 0
    assert out.startswith("accuracy  0.")
    assert "standard error, 100 test sequences" in out
    assert "50 parameters, 20 steps in" in out


@pytest.mark.slow
def test_options_replace_those_of_the_preset(run, monkeypatch):
    # As for long sequences, the floor is estimated.
    monkeypatch.setattr("attnlab.command_line.train_command.FEW_BELIEFS", 10)
    status, out, _ = run(
        "train", "--json", "--preset", "icl-markov", "--k", "3", "--length", "5", "--steps", "2",
        "--test-size", "100",
    )  # fmt: skip
    assert status == 0
    report = json.loads(out)
    experiment = from_json_record(report["experiment"])
    assert experiment.generator == GENERATORS["in-context-markov"](k=3)
    assert experiment.model == PRESETS["icl-markov"].experiment.model
    assert experiment.training.data == "fresh"
    rows = report["per_position"]
    assert [each["position"] for each in rows] == [1, 2, 3, 4, 5]
    assert [each["nll"] for each in rows] == report["test_nll_by_position"]["nll"]
    assert rows[2]["floor"] == pytest.approx(1.0477, abs=4.5 * rows[2]["floor_stderr"])


@pytest.mark.slow
def test_a_family_is_trained_as_it_does_well_with_unless_asked_otherwise(run, monkeypatch):
    seen = []

    def refuse(begun, *_, **__):
        seen.append(to_record(begun.experiment.training))
        raise OptionError("steps", 20, "too many for this test", "Choose none")

    # What a run begins with is known before its first step.
    monkeypatch.setattr("attnlab.command_line.train_command.train_run", refuse)
    small = ("train", "--json", "--length", "4", "--steps", "20", "--test-size", "100")
    usual = {"data": "fresh", "batch": 256, "steps": 20}
    general = {"data": "fixed", "batch": 100, "steps": 20}
    for model, expected in (("transformer", usual), ("gru", general)):
        status, _, err = run(*small, "--model", model)
        assert (status, "too many for this test" in err) == (2, True)
        assert {name: seen[-1][name] for name in expected} == expected
    # A preset has a training of its own.
    run(*small, "--preset", "corrected-markov", "--model", "transformer")
    assert (len(seen), seen[-1]["data"]) == (3, "fixed")


@pytest.mark.slow
def test_options_of_chosen_parts_reach_them(run):
    status, out, _ = run(
        *QUICK, "--position", "scalar", "--period", "7", "--initial", "0.2,0.3,0.5"
    )
    assert status == 0
    record = json.loads(out)["experiment"]
    assert record["model"]["position"] == {"name": "scalar", "period": 7.0}
    assert record["generator"]["initial"] == [0.2, 0.3, 0.5]


def test_presets_are_listed(run):
    status, out, _ = run("train", "--list-presets")
    assert status == 0
    for line, (name, preset) in zip(out.splitlines(), PRESETS.items(), strict=True):
        assert line == f"{name}  {preset.label}. {preset.description}"


@pytest.mark.parametrize("name", ["markov", "recall"])
def test_samples_are_the_same_every_time(run, name):
    first, again, other = (
        run("sample", name, "--size", "4", "--seed", seed) for seed in ("1", "1", "2")
    )
    assert first == again
    assert first[0] == 0
    assert first[1] != other[1]
    assert first[1].count("\n") == 4
    assert all(line.count(" → ") == 1 for line in first[1].splitlines())


def test_samples_as_json(run):
    status, out, err = run("sample", "ndays", "--n", "2", "--size", "3", "--length", "5", "--json")
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert report["generator"] == {"name": "ndays", "n": 2}
    assert [len(row) for row in report["sequences"]] == [6, 6, 6]
    assert report["length"] == 5
    assert len(report["symbols"]) == 3


BAD = {
    "no command": ((), "command"),
    "unknown command": (("predict",), "predict"),
    "unknown flag": (("train", "--colour", "red"), "--colour"),
    "flag without value": (("train", "--steps"), "steps"),
    "unknown preset": (("train", "--preset", "blog"), "`preset` is 'blog'"),
    "unknown model": (("train", "--model", "mamba"), "`model` is 'mamba'"),
    "unknown mask": (("train", "--mask", "carnival"), "`mask` is 'carnival'"),
    "steps a word": (("train", "--steps", "many"), "`steps` is 'many'"),
    "steps a fraction": (("train", "--steps", "1.5"), "`steps` is '1.5'"),
    "rate nan": (("train", "--learning-rate", "nan"), "`learning_rate` is nan"),
    "rows sum to 0.9": (("train", "--initial", "0.3,0.3,0.3"), "sums to 0.9"),
    "numbers that are none": (("train", "--initial", "a,b,c"), "`initial` is 'a,b,c'"),
    "option of another generator": (("train", "--n", "3"), "--n"),
    "option of another model": (("train", "--model", "linear", "--d-attn", "3"), "--d-attn"),
    "loss that the model lacks": (("train", "--model", "linear", "--loss", "next"), "`loss`"),
    "too short": (("train", "--length", "1"), "`length` is 1"),
    "sample: unknown generator": (("sample", "snow"), "snow"),
    "sample: no size": (("sample", "markov", "--size", "0"), "`size` is 0"),
    "sample: too long": (("sample", "markov", "--length", "257"), "`length` is 257"),
    "sample: n = 99": (("sample", "ndays", "--n", "99"), "`n` is 99"),
    "sample: days empty": (("sample", "recall", "--days", ""), "`days` is ''"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_argument_ends_with_status_2_and_one_line_that_names_it(run, case):
    arguments, named = BAD[case]
    status, out, err = run(*arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("attnlab: ")
    assert err.count("\n") == 1
    assert named in err


@pytest.mark.parametrize("arguments", [("--help",), ("train", "--help"), ("sample", "--help")])
def test_help_ends_with_status_0(run, arguments):
    status, out, err = run(*arguments)
    assert (status, err) == (0, "")
    assert "usage: python -m attnlab" in out


@pytest.mark.parametrize("command", ["train", "probe", "compare"])
def test_a_misspelt_preset_gets_the_nearest_names(run, command):
    status, out, err = run(command, "--preset", "mess3-beleif")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "'mess3-belief'" in err
