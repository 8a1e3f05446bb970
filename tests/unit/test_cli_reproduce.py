"""`reproduce` on the command line."""

import dataclasses
import json

import pytest

from attnlab.comparisons.published import PARTS, part_named, parts, shipped
from attnlab.training.steps import Training

KEYS = ["process", "model", "published", "mean", "low", "high", "ceiling", "floor", "verdict"]

pytestmark = pytest.mark.usefixtures("as_users_run")


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
    monkeypatch.setattr(parts, "PARTS", {**PARTS, "table": small})


@pytest.mark.slow
def test_the_table_is_trained_and_printed_as_json(run, small_table):
    status, out, err = run("reproduce", "--seeds", 2, "--json")
    assert status == 0
    assert "4 runs of 2 settings" in err
    assert "run 4 of 4: done" in err
    record = json.loads(out)
    assert (record["part"], record["seeds"], record["shipped"]) == ("table", 2, None)
    assert [list(row) for row in record["rows"]] == [KEYS, KEYS]
    attention, linear = record["rows"]
    assert (attention["published"], linear["published"]) == (0.498, None)
    assert attention["low"] < attention["mean"] < attention["high"]
    assert attention["ceiling"] == pytest.approx(0.5056, abs=1e-4)
    assert attention["floor"] == pytest.approx(0.9982, abs=1e-4)


def test_for_people_a_row_has_its_verdict(run, small_table):
    status, out, _ = run("reproduce", "--seeds", 1)
    assert status == 0
    assert "markov, linear\n    accuracy 0." in out
    assert "One seed does not show" in out


def test_the_shipped_result_is_printed_without_training(run):
    status, out, err = run("reproduce", "--shipped", "--part", "ladder", "--json")
    assert (status, err) == (0, "")
    record = json.loads(out)
    assert record["shipped"]["date"] == shipped().made.date
    assert record["seeds"] == shipped().seeds["ladder"]
    assert len(record["rows"]) == len(PARTS["ladder"].settings)
    gains = [row for row in record["rows"] if "gain" in row]
    assert len(gains) == len(record["rows"]) - 2
    assert all(list(row)[: len(KEYS)] == KEYS for row in record["rows"])
    told = run("reproduce", "--shipped")[1]
    assert told.startswith(f"Made {shipped().made.date} with attnlab")


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
