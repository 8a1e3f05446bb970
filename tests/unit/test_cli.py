"""The command line: results on standard output, everything else elsewhere."""

import json

import pytest

from attnlab.command_line.cli import main
from attnlab.generators import GENERATORS
from attnlab.training.experiment import from_json_record
from attnlab.training.presets import PRESETS

QUICK = ("train", "--json", "--length", "4", "--steps", "20", "--batch", "20", "--train-size",
         "200", "--test-size", "100", "--d-attn", "2", "--d-model", "2")  # fmt: skip

pytestmark = pytest.mark.usefixtures("as_users_run")


def run(capsys, *arguments):
    """(status, standard output, standard error) of one command."""
    try:
        status = main(arguments)
    except SystemExit as end:
        status = end.code
    seen = capsys.readouterr()
    return status, seen.out, seen.err


def test_train_prints_one_json_object_and_progress_elsewhere(capsys):
    status, out, err = run(capsys, *QUICK)
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


def test_train_is_the_same_every_time_but_for_the_clock(capsys):
    reports = [json.loads(run(capsys, *QUICK, "--seed", "3")[1]) for _ in range(2)]
    for report in reports:
        report.pop("seconds")
        report.pop("steps_per_second")
    assert reports[0] == reports[1]


def test_train_without_json_is_for_people(capsys):
    status, out, _ = run(capsys, *(part for part in QUICK if part != "--json"))
    assert status == 0
    assert out.startswith("accuracy  0.")
    assert "standard error, 100 test sequences" in out
    assert "50 parameters, 20 steps in" in out


@pytest.mark.slow
def test_options_replace_those_of_the_preset(capsys):
    status, out, _ = run(
        capsys, "train", "--json", "--preset", "published-ndays10-linear", "--n", "2", "--steps",
        "2", "--train-size", "50", "--test-size", "100",
    )  # fmt: skip
    assert status == 0
    experiment = from_json_record(json.loads(out)["experiment"])
    assert experiment.generator == GENERATORS["ndays"](n=2)
    assert experiment.model == PRESETS["published-ndays10-linear"].experiment.model
    assert experiment.training.batch_mode == "full"


@pytest.mark.slow
def test_a_family_is_trained_as_it_does_well_with_unless_asked_otherwise(capsys):
    small = ("train", "--json", "--length", "4", "--steps", "20", "--test-size", "100")
    usual = {"data": "fresh", "batch": 256, "steps": 20}
    general = {"data": "fixed", "batch": 100, "steps": 20}
    for model, expected in (("transformer", usual), ("gru", general)):
        status, out, _ = run(capsys, *small, "--model", model)
        assert status == 0
        training = json.loads(out)["experiment"]["training"]
        assert {name: training[name] for name in expected} == expected
    # A preset has a training of its own.
    status, out, _ = run(capsys, *small, "--preset", "corrected-markov", "--model", "transformer")
    assert json.loads(out)["experiment"]["training"]["data"] == "fixed"


@pytest.mark.slow
def test_the_transformer_learns_dotmod_with_its_own_settings(capsys):
    status, out, _ = run(
        capsys, "train", "--generator", "dotmod", "--model", "transformer", "--length", "10",
        "--json",
    )  # fmt: skip
    assert status == 0
    report = json.loads(out)
    assert report["test_accuracy"] > 0.95


@pytest.mark.slow
def test_options_of_chosen_parts_reach_them(capsys):
    status, out, _ = run(
        capsys, *QUICK, "--position", "scalar", "--period", "7", "--initial", "0.2,0.3,0.5"
    )
    assert status == 0
    record = json.loads(out)["experiment"]
    assert record["model"]["position"] == {"name": "scalar", "period": 7.0}
    assert record["generator"]["initial"] == [0.2, 0.3, 0.5]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("position", "option", "value"), [("rotary", "base", 7.0), ("alibi", "slope", 0.25)]
)
def test_encodings_of_scores_train(capsys, position, option, value):
    status, out, _ = run(capsys, *QUICK, "--position", position, f"--{option}", str(value))
    assert status == 0
    record = json.loads(out)["experiment"]
    rest = {"alibi": {"slopes": "equal"}}.get(position, {})
    assert record["model"]["position"] == {"name": position, option: value, **rest}


def test_presets_are_listed(capsys):
    status, out, _ = run(capsys, "train", "--list-presets")
    assert status == 0
    for line, (name, preset) in zip(out.splitlines(), PRESETS.items(), strict=True):
        assert line == f"{name}  {preset.description}"


@pytest.mark.parametrize("name", ["markov", "recall"])
def test_samples_are_the_same_every_time(capsys, name):
    first, again, other = (
        run(capsys, "sample", name, "--size", "4", "--seed", seed) for seed in ("1", "1", "2")
    )
    assert first == again
    assert first[0] == 0
    assert first[1] != other[1]
    assert first[1].count("\n") == 4
    assert all(line.count(" → ") == 1 for line in first[1].splitlines())


def test_samples_as_json(capsys):
    status, out, err = run(
        capsys, "sample", "ndays", "--n", "2", "--size", "3", "--length", "5", "--json"
    )
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
    "unknown generator": (("train", "--generator", "snow"), "`generator` is 'snow'"),
    "unknown model": (("train", "--model", "mamba"), "`model` is 'mamba'"),
    "unknown position": (("train", "--position", "gps"), "`position` is 'gps'"),
    "unknown mask": (("train", "--mask", "carnival"), "`mask` is 'carnival'"),
    "steps a word": (("train", "--steps", "many"), "`steps` is 'many'"),
    "steps a fraction": (("train", "--steps", "1.5"), "`steps` is '1.5'"),
    "no steps": (("train", "--steps", "0"), "`steps` is 0"),
    "too many steps": (("train", "--steps", "100001"), "cap of 100,000"),
    "steps enormous": (("train", "--steps", "9" * 400), "`steps` is 9"),
    "steps beyond counting": (("train", "--steps", "9" * 5_000), "`steps` is '9"),
    "rate nan": (("train", "--learning-rate", "nan"), "`learning_rate` is nan"),
    "rate infinite": (("train", "--learning-rate", "1e999"), "`learning_rate` is inf"),
    "rate negative": (("train", "--learning-rate=-1"), "`learning_rate` is -1.0"),
    "rows sum to 0.9": (("train", "--initial", "0.3,0.3,0.3"), "sums to 0.9"),
    "numbers that are none": (("train", "--initial", "a,b,c"), "`initial` is 'a,b,c'"),
    "one row": (("train", "--transition", "1,0,0"), "`transition`"),
    "option of another generator": (("train", "--n", "3"), "--n"),
    "option of another model": (("train", "--model", "linear", "--d-attn", "3"), "--d-attn"),
    "option of another position": (("train", "--base", "3"), "--base"),
    "loss that the model lacks": (("train", "--model", "linear", "--loss", "next"), "`loss`"),
    "too short": (("train", "--length", "1"), "`length` is 1"),
    "sample: unknown generator": (("sample", "snow"), "snow"),
    "sample: no size": (("sample", "markov", "--size", "0"), "`size` is 0"),
    "sample: size a word": (("sample", "markov", "--size", "x"), "`size` is 'x'"),
    "sample: too long": (("sample", "markov", "--length", "257"), "`length` is 257"),
    "sample: too short": (("sample", "recall", "--length", "1"), "`length` is 1"),
    "sample: seed negative": (("sample", "markov", "--seed=-1"), "`seed` is -1"),
    "sample: n = 99": (("sample", "ndays", "--n", "99"), "`n` is 99"),
    "sample: days unsorted": (("sample", "recall", "--days", "4,1"), "`days` is (4, 1)"),
    "sample: days empty": (("sample", "recall", "--days", ""), "`days` is ''"),
    "sample: option of another generator": (("sample", "markov", "--n", "3"), "--n"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_argument_ends_with_status_2_and_one_line_that_names_it(capsys, case):
    arguments, named = BAD[case]
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("attnlab: ")
    assert err.count("\n") == 1
    assert named in err


@pytest.mark.parametrize("arguments", [("--help",), ("train", "--help"), ("sample", "--help")])
def test_help_ends_with_status_0(capsys, arguments):
    status, out, err = run(capsys, *arguments)
    assert (status, err) == (0, "")
    assert "usage: python -m attnlab" in out
