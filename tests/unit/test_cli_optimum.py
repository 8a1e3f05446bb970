"""`python -m attnlab optimum`: the best that any predictor could do, as text and as JSON."""

import json

import numpy as np
import pytest

from attnlab.command_line.cli import main
from attnlab.generators import Cards, DotMod, NDays, Recall
from attnlab.optimum import baselines_of, dependence, optimum
from tests.unit import optimum_oracles as oracles
from tests.unit.sampled_figures import sampled

pytestmark = pytest.mark.usefixtures("as_users_run")

# Probabilities come from float32 logarithms, good to about 1e-7 each.
CLOSE = 3e-6
FIGURES = ("replacement", "replacement_stderr", "information", "information_stderr")


def report_of(capsys, *arguments):
    """The JSON object that the command prints."""
    assert main(("optimum", *arguments, "--json")) == 0
    seen = capsys.readouterr()
    assert seen.out.count("\n") == 1
    return json.loads(seen.out)


def test_the_figures_are_those_of_enumeration(capsys):
    report = report_of(capsys, "dotmod", "--n", "3", "--noise", "0.2", "--length", "4")
    joint = oracles.stream_joint(oracles.dotmod_rule(3, 0.2, (0, 1, 2)), 5)
    assert report["nll"] == pytest.approx(oracles.floor(joint), abs=CLOSE)
    assert report["accuracy"] == pytest.approx(oracles.ceiling(joint), abs=CLOSE)
    assert report["exact"] is True
    assert report["stderr"] == {"accuracy": 0.0, "nll": 0.0}
    assert [day["day"] for day in report["per_day"]] == [1, 2, 3, 4, 5]
    for day in report["per_day"]:
        so_far = oracles.first_days(joint, day["day"])
        assert day["nll"] == pytest.approx(oracles.floor(so_far), abs=CLOSE)
    assert report["generator"]["n"] == 3
    assert report["length"] == 4
    found = [report["dependence"]["replacement"], report["dependence"]["information"]]
    assert np.shape(found) == (2, 4)
    np.testing.assert_allclose(found[0], oracles.replacement(joint)[-1], atol=CLOSE)


@pytest.mark.slow
def test_a_generator_prints_what_the_library_says(capsys):
    report, generator = report_of(capsys, "recall"), Recall()
    assert report["length"] == 10
    best, maps = optimum(generator, 10).final, dependence(generator, 10)
    assert (report["accuracy"], report["nll"]) == (best.accuracy, best.nll)
    rungs = [(rung["name"], rung["nll"], rung["accuracy"]) for rung in report["ladder"]]
    expected = [
        (rung.name, rung.best.nll, rung.best.accuracy) for rung in baselines_of(generator, 10)
    ]
    assert rungs == expected
    for figure in FIGURES:
        np.testing.assert_array_equal(report["dependence"][figure], getattr(maps, figure)[-1])
    assert report["dependence"]["exact"] is maps.exact


def test_a_task_prints_what_the_library_says(capsys):
    report = report_of(capsys, "cards", "--hand", "2", "--suits", "2", "--ranks", "2")
    task = Cards(hand=2, suits=2, ranks=2)
    best, maps = optimum(task, 3).final, dependence(task, 3)
    assert (report["length"], report["accuracy"], report["nll"]) == (3, best.accuracy, best.nll)
    assert [rung["nll"] for rung in report["ladder"]] == [
        rung.best.nll for rung in baselines_of(task, 3)
    ]
    for figure in FIGURES:
        np.testing.assert_array_equal(report["dependence"][figure], getattr(maps, figure)[-1])


@pytest.mark.parametrize(
    ("arguments", "generator"),
    [
        (("ndays", "--n", "7", "--length", "3"), NDays(n=7)),
        (("recall", "--variant", "published", "--table-seed", "5", "--length", "8"),
         Recall(variant="published", table_seed=5)),
        (("dotmod", "--variant", "published", "--n", "4", "--length", "3"),
         DotMod(variant="published", n=4)),
    ],
)  # fmt: skip
def test_options_are_plain_flags(capsys, arguments, generator):
    report = report_of(capsys, *arguments)
    assert report["nll"] == optimum(generator, report["length"]).final.nll


@pytest.mark.slow
def test_sampled_figures_say_so(capsys):
    report = sampled(lambda: report_of(capsys, "dotmod", "--n", "3", "--length", "4"))
    assert report["exact"] is False
    assert report["stderr"]["nll"] > 0
    assert report["stderr"]["accuracy"] > 0
    assert report["dependence"]["exact"] is False
    assert max(report["dependence"]["replacement_stderr"]) > 0


def test_for_people_it_is_a_ladder_with_the_word_exact(capsys):
    assert main(("optimum", "markov", "--length", "4")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines][-2:] == ["linear", "optimal"]
    assert all(line.count("(exact)") == 2 for line in lines)


BAD = {
    "n = 99": (("ndays", "--n", "99"), "`n` is 99"),
    "option of another": (("markov", "--n", "3"), "--n"),
    "sum": (("custom", "--symbols", "a b", "--table", "0.5 0.4; 0.5 0.5"), "sums to 0.9"),
    "size": (("custom", "--symbols", "a b", "--table", "1 0 0; 0 1 0; 0 0 1"), "not 2 rows"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_end_with_status_2_and_one_line(capsys, case):
    arguments, named = BAD[case]
    try:
        status = main(("optimum", *arguments))
    except SystemExit as end:
        status = end.code
    seen = capsys.readouterr()
    assert (status, seen.out) == (2, "")
    assert named in seen.err
    assert seen.err.count("\n") == 1


def test_a_search_that_was_stopped_early_is_not_called_exact(capsys):
    zero = "0.8,0.2,0; 0.3,0.3,0.4; 0.1,0.4,0.5"
    assert main(("optimum", "markov", "--length", "7", "--transition", zero)) == 0
    *others, linear, optimal = capsys.readouterr().out.splitlines()
    assert linear.startswith("linear")
    assert linear.count("(search stopped early)") == 2
    assert all(line.count("(exact)") == 2 for line in (*others, optimal))
