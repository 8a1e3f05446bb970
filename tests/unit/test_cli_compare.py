"""`compare` and `reproduce` on the command line: many runs, each run once."""

import dataclasses
import json
import re

import numpy as np
import pytest
from scipy.stats import t as student

from attnlab.command_line.many_runs import result_parts, seed_lines, show_interval
from attnlab.comparisons.intervals import Interval
from attnlab.comparisons.shipped import shipped
from attnlab.comparisons.summary import References, summarise
from attnlab.known_results.blog_post import PARTS, part_named
from attnlab.optimum import Best
from attnlab.training.steps import Training
from tests.unit.made_up_results import SHORT, all_finished, row_of

SMALL = ("--batch", "20", "--train-size", "200", "--test-size", "100", "--steps", "20")

pytestmark = pytest.mark.usefixtures("as_users_run")


@pytest.fixture
def library(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLAB_LIBRARY", str(tmp_path / "library"))


@pytest.mark.slow
def test_rows_hold_what_differs_and_the_figures_of_the_plain_runs(run):
    status, out, err = run(
        "compare", "--model", "linear", "--length", "3,4", "--seeds", 2, *SMALL, "--json"
    )
    assert status == 0
    assert "run 4 of 4: done" in err
    rows = json.loads(out)["rows"]
    assert [row["length"] for row in rows] == [3, 4]
    assert "steps" not in rows[0]
    for row in rows:
        own = [
            json.loads(run("train", "--model", "linear", "--length", row["length"], "--seed", seed,
                           *SMALL, "--json")[1])
            for seed in (0, 1)
        ]  # fmt: skip
        for name in ("test_accuracy", "test_nll"):
            values = [report[name] for report in own]
            assert row[name]["mean"] == pytest.approx(np.mean(values), abs=1e-5)
        # Of two values: t is 12.7062, and the standard error half their difference.
        half = 12.7062 * abs(values[0] - values[1]) / 2
        assert row["test_nll"]["high"] - row["test_nll"]["mean"] == pytest.approx(half, rel=1e-3)
        assert row["seeds"] == 2
        assert row["floor"] < np.log(3)
        assert 1 / 3 < row["ceiling"] < 1


@pytest.mark.slow
def test_the_best_setting_is_compared_with_the_next_ones_by_seed(run):
    models = ("linear", "attention", "transformer")
    arguments = ("compare", "--model", ",".join(models), "--seeds", 3, *SMALL)
    rows = json.loads(run(*arguments, "--json")[1])["rows"]
    by_seed = {row["model"]: row["by_seed"]["test_accuracy"].values() for row in rows}
    accuracy = {name: np.array(list(values)) for name, values in by_seed.items()}
    best, *others = sorted(models, key=lambda name: -accuracy[name].mean())
    lines = run(*arguments)[1].splitlines()[-2:]
    for line, other in zip(lines, others, strict=True):
        difference = accuracy[best] - accuracy[other]
        change = f"{difference.mean():+.4f}".replace("-", "−")
        assert line.startswith(f"model {best} − model {other}: accuracy {change} (")
        found = re.search(r"paired over 3 seeds\), p (\S+) corrected for 3 pairs: (.*)$", line)
        # The spread is at least the error of the tests, at most that of independent ones.
        most = np.sqrt(2 * 0.25 / 100)
        least_p, most_p = (
            min(1, 3 * 2 * student.sf(difference.mean() / (spread / np.sqrt(3)), 2))
            for spread in (difference.std(ddof=1), max(difference.std(ddof=1), most))
        )
        assert 0.94 * least_p <= float(found[1]) <= 1.06 * most_p
        assert found[2] == ("better" if float(found[1]) < 0.05 else "within the noise")


@pytest.mark.slow
def test_a_setting_that_is_refused_is_a_row_with_its_reason(run):
    status, out, _ = run(
        "compare", "--model", "transformer,linear", "--heads", "3", "--d-model", "2,0", "--seeds",
        1, *SMALL, "--length", 4, "--json",
    )  # fmt: skip
    assert status == 0
    by_width = {(row["model"], row["d_model"]): row for row in json.loads(out)["rows"]}
    refused = by_width["transformer", 0]
    assert refused["test_nll"]["mean"] is None
    assert "`d_model` is 0" in refused["unfinished"][0]["reason"]
    assert by_width["linear", None]["test_nll"]["mean"] > 0


@pytest.mark.slow
def test_r2_of_the_belief_is_measured_where_there_are_beliefs(run):
    asked = ("compare", "--generator", "even,markov", "--model", "gru", "--hidden-size", 4,
             "--length", 4, "--seeds", 1, *SMALL)  # fmt: skip
    # The only site of a recurrent network.
    name = "belief_r2:state"
    status, out, _ = run(*asked, "--metrics", f"{name},belief_r2", "--json")
    assert status == 0
    rows = json.loads(out)["rows"]
    even, markov = (row["metrics"][name] for row in rows)
    assert even == rows[0]["metrics"]["belief_r2"]
    assert 0 < even["mean"] <= 1
    assert even["by_seed"] == {"0": even["mean"]}
    assert markov["mean"] is None


@pytest.mark.slow
def test_what_the_library_has_is_not_trained_again(run, library):
    asked = ("compare", "--model", "linear", "--seeds", 2, *SMALL, "--length", 4, "--csv")
    first, second = run(*asked)[1], run(*asked)[1]
    # Even the seconds are the same.
    assert first == second
    more = run("compare", "--model", "linear", "--seeds", 3, *SMALL, "--length", 4, "--json")[1]
    assert json.loads(more)["rows"][0]["seeds"] == 3
    assert json.loads(run("runs", "list", "--json")[1])["count"] == 3
    run(*asked, "--any-version")
    assert json.loads(run("runs", "list", "--json")[1])["count"] == 3
    run(*asked, "--again")
    assert json.loads(run("runs", "list", "--json")[1])["count"] == 5
    assert run(*asked, "--again", "--any-version")[0] == 2


@pytest.mark.slow
def test_for_people_a_row_has_its_interval_and_the_best_possible(run):
    out = run("compare", "--model", "linear", "--seeds", 2, *SMALL)[1]
    assert "95% " in out
    assert "2 seeds) of 0.5056" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--seeds", "0"), "`seeds` is 0"),
        (("--workers", "0"), "`workers` is 0"),
        (("--colour", "red"), "--colour"),
        (("--model", "linear", "--heads", "2"), "`heads`"),
        (("--preset", "nothing", "--seeds", "1"), "`preset` is 'nothing'"),
        (("--metrics", "happiness"), "`metrics` is 'happiness'"),
        (("--metrics", "belief_r2:nowhere"), "Choose from accuracy, nll, "),
        (("--workers", "2", "--dask", "tcp://127.0.0.1:1"), "not allowed"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(run, arguments, words):
    status, out, err = run("compare", *arguments)
    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_for_people_a_row_has_each_seed_how_many_reached_the_level_and_what_speaks_against_it():
    """Of five accuracies two are stuck; with a floor of its own error beside them."""
    accuracies = (0.96, 0.73, 0.959, 0.961, 0.729)
    losses = (0.3, 0.8, 0.31, 0.3, 0.8)
    row = row_of(SHORT, losses)
    runs = all_finished(SHORT, losses, accuracies=accuracies)
    known = References(Best(0.29, 0.96, 0.0005, 0.0006), Best(float(np.log(3)), 1 / 3))
    (row,) = summarise(runs, [row.setting], references=lambda _: known)
    words = "  ".join(result_parts(row))
    assert "of 0.9600 ± 0.0006" in words
    assert "nats of 0.2900 ± 0.0005" in words
    each, reached, *cautions = seed_lines(row)
    assert each == "accuracy of each seed: 0.9600 0.7300 0.9590 0.9610 0.7290"
    # By the tables of Wilson's interval: 23.1 to 88.2 %.
    assert reached.startswith("3 of 5 seeds reached 90% learned (95% interval of that share: 23%")
    assert any("two groups" in caution for caution in cautions)
    assert seed_lines(row_of(SHORT, [1.0])) == []


@pytest.mark.parametrize("accuracy", [0.0, 1.0])
def test_seeds_that_are_all_right_or_all_wrong_have_an_interval_with_a_width(accuracy):
    rows = summarise(all_finished(SHORT, [0.1] * 4, accuracies=[accuracy] * 4), baselines=False)
    ends = re.search(r"\(95% (\S+) to (\S+), 4 seeds\)", show_interval(rows[0].accuracy))
    assert float(ends[1]) < float(ends[2])
    tiny = Interval(1.0, 1 - 1e-7, 1.0, 4)
    assert show_interval(tiny) == "1.0000 (95% 0.9999999 to 1.0000000, 4 seeds)"
    assert "all 4" in show_interval(Interval(1.0, 1.0, 1.0, 4))


def test_more_settings_than_can_be_compared_are_refused_at_once(run):
    many = {name: ",".join(map(str, range(100, 420))) for name in ("steps", "train-size")}
    flags = [part for name, text in many.items() for part in (f"--{name}", text)]
    status, out, err = run("compare", "--model", "linear", *flags)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "102,400 combinations in all, more than 100,000" in err


@pytest.mark.parametrize("more", [(), ("--json",), ("--csv",)])
def test_without_a_single_result_the_status_is_1(run, monkeypatch, more):
    def fails(*arguments):
        raise MemoryError("none left")

    monkeypatch.setattr("attnlab.comparisons.many.carry_out", fails)
    status, out, _ = run("compare", "--model", "linear", "--length", "3,4", "--seeds", 2, *more)
    assert status == 1
    assert out.count("none left") == (4 if more else 2)


def test_an_address_with_tls_and_no_certificate_is_refused_in_one_line(run):
    pytest.importorskip("distributed")
    status, out, err = run("compare", "--model", "linear", "--dask", "tls://127.0.0.1:1")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "`dask` is 'tls://127.0.0.1:1': a TLS address needs certificates" in err


KEYS = ["process", "model", "published", "mean", "low", "high", "ceiling", "floor", "verdict"]


@pytest.fixture
def small_table(monkeypatch):
    """The table with markov alone, whose runs are done at once."""
    quick = Training(steps=2, train_size=50, test_size=100)
    table = part_named("table", ["markov"])
    settings = tuple(
        dataclasses.replace(s, experiment=dataclasses.replace(s.experiment, training=quick))
        for s in table.settings
    )
    small = dataclasses.replace(table, settings=settings)
    monkeypatch.setattr("attnlab.known_results.blog_post.PARTS", {**PARTS, "table": small})


@pytest.mark.slow
def test_the_table_is_trained_and_printed_as_json(run, small_table):
    status, out, err = run("reproduce", "--seeds", 2, "--json")
    assert status == 0
    assert "4 runs of 2 settings" in err
    assert "run 4 of 4: done" in err
    record = json.loads(out)
    assert (record["part"], record["seeds"], record["shipped"]) == ("table", 2, None)
    with_gain = [*KEYS, "gain", "gain_low", "gain_high"]
    assert [list(row) for row in record["rows"]] == [KEYS, with_gain]
    attention, linear = record["rows"]
    assert (attention["published"], linear["published"]) == (0.498, None)
    assert attention["low"] < attention["mean"] < attention["high"]
    assert attention["ceiling"] == pytest.approx(0.5056, abs=1e-4)
    assert attention["floor"] == pytest.approx(0.9982, abs=1e-4)


def test_the_shipped_result_is_printed_without_training(run):
    status, out, err = run("reproduce", "--shipped", "--part", "ladder", "--json")
    assert (status, err) == (0, "")
    record = json.loads(out)
    assert record["shipped"]["date"] == shipped("blog-post").made.date
    assert record["seeds"] == PARTS["ladder"].seeds
    assert len(record["rows"]) == len(PARTS["ladder"].settings)
    gains = [row for row in record["rows"] if "gain" in row]
    assert len(gains) == len(record["rows"]) - 2
    assert all(list(row)[: len(KEYS)] == KEYS for row in record["rows"])
    output = run("reproduce", "--shipped")[1]
    assert output.startswith(f"Made {shipped('blog-post').made.date} with attnlab")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--seeds", "0"), "`seeds` is 0"),
        (("--part", "all"), "`part` is 'all'"),
        (("--shipped", "--seeds", "99"), "`seeds` is 99: more than the 8"),
        (("--shipped", "--workers", "2"), "not allowed"),
        (("--workers", "0"), "`workers` is 0"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(run, arguments, words):
    status, out, err = run("reproduce", *arguments)
    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
