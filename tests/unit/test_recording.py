"""Metrics and checkpoints of the caller: the same by hand, in workers and from a library."""

import csv
import io
import json
import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.comparisons.intervals import curve_over_seeds, student_interval
from attnlab.comparisons.many import run_all
from attnlab.comparisons.paired import compare_paired
from attnlab.comparisons.processes import Processes
from attnlab.comparisons.records import to_csv, to_records
from attnlab.comparisons.summary import beyond_best, figures_of, interval_of, reached_of, summarise
from attnlab.configuration.options import OptionError
from attnlab.runs.library import Library
from attnlab.runs.storage import from_bytes, to_bytes
from attnlab.training.experiment import prepare
from attnlab.training.loop import train
from tests.unit.small_experiments import SMALL, SMALL_LINEAR, small

LINEAR = [small(SMALL_LINEAR, seed=seed) for seed in range(3)]


def largest(model, setup, times=1):
    return times * max(abs(weight).max() for weight in jax.tree.leaves(model))


@eqx.filter_jit
def first_token(model, setup):
    """How likely the first token is to follow the sequences to watch."""
    logits = jax.vmap(lambda tokens: model(tokens, jnp.array([tokens.size - 1]))[0][0])
    return jax.nn.softmax(logits(setup.probes)).mean(axis=0)[0]


def moved(model, setup):
    """Fails as soon as the weights are not those of before the first step."""
    return 1 // int(eqx.tree_equal(model, setup.state.model))


METRICS = {"largest": largest, "twice": partial(largest, times=2), "first token": first_token}


def by_hand(experiment, steps):
    """The metrics at some steps of the plain loop."""
    setup = prepare(experiment)
    states = [setup.state, *(each.state for each in train(experiment, setup, chunk=1))]
    return {
        name: tuple((step, float(metric(states[step].model, setup))) for step in steps)
        for name, metric in METRICS.items()
    }


@pytest.mark.slow
def test_metrics_are_those_of_the_plain_loop_at_every_test():
    (result,) = run_all([SMALL], metrics=METRICS)
    steps = [step for step, _ in result.tests]
    assert (steps[0], steps[-1]) == (0, 60)
    assert len(steps) > 10
    assert result.metrics == by_hand(SMALL, steps)
    # Nor do they change the run.
    (plain,) = run_all([SMALL])
    assert (plain.metrics, plain.evaluation) == ({}, result.evaluation)


@pytest.mark.slow
def test_checkpoints_say_where_metrics_are_measured_and_models_kept():
    (result,) = run_all([SMALL], metrics=METRICS, checkpoints=[30, 0, 7, 1_000])
    assert result.metrics == by_hand(SMALL, [0, 7, 30, 60])
    kept = dict(from_bytes(to_bytes(result.run)).history.checkpoints)
    assert {step: float(largest(model, None)) for step, model in kept.items()} == dict(
        result.metrics["largest"]
    )
    # Tests are at these steps, too.
    assert {0, 7, 30, 60} < {step for step, _ in result.tests}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [lambda: Processes(1), lambda: ThreadPoolExecutor(1)])
def test_workers_measure_the_same(workers):
    wanted = {"metrics": METRICS, "checkpoints": (7,)}
    with workers() as executor:
        (result,) = run_all([SMALL], executor, **wanted)
    (here,) = run_all([SMALL], **wanted)
    assert result.reason == ""
    assert result.metrics == here.metrics
    assert [step for step, _ in result.run.history.checkpoints] == [7, 60]


@pytest.mark.slow
def test_a_metric_that_fails_is_named_and_fails_its_own_run_alone():
    first = prepare(LINEAR[0])

    def fails_for_one(model, setup):
        if setup.key == first.key:
            return moved(model, setup)
        return 1.0

    failed, done = run_all(LINEAR[:2], metrics={"largest": largest, "mine": fails_for_one})
    assert (failed.state, done.state) == ("failed", "done")
    assert "The metric 'mine' failed at step 1: ZeroDivisionError: " in failed.reason
    (row,) = summarise([failed, done], baselines=False)
    assert row.metrics["largest"].n == 1
    assert row.unfinished[0].reason == failed.reason


@pytest.mark.slow
def test_a_metric_that_is_not_defined_for_a_run_is_left_out():
    metrics = {"largest": largest, "none": lambda model, setup: None}
    (result,) = run_all([SMALL_LINEAR], metrics=metrics, checkpoints=())
    assert list(result.metrics) == ["largest"]
    (row,) = summarise([result], baselines=False)
    assert interval_of(row, "none") is None
    assert interval_of(row, "largest") == row.metrics["largest"]
    # The references have no such number.
    assert reached_of(row, "largest") is None
    assert beyond_best(row, "largest") == []


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_metric_that_is_no_finite_number_fails_its_run(value):
    (failed,) = run_all([SMALL_LINEAR], metrics={"mine": lambda model, setup: value})
    assert (failed.state, failed.run) == ("failed", None)
    assert failed.reason == f"The metric 'mine' is {value} at step 0. Return a finite number."


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ({"metrics": {"nll": largest}}, "`metrics` is 'nll'"),
        ({"metrics": {"": largest}}, "`metrics` is ''"),
        ({"checkpoints": (-1, 3)}, "`checkpoints`.*not up to 255 whole numbers from 0"),
        ({"checkpoints": range(1_000)}, "`checkpoints`.*not up to 255 whole numbers from 0"),
    ],
)
def test_bad_metrics_and_checkpoints_are_refused_at_once(wanted, problem):
    with pytest.raises(OptionError, match=problem):
        run_all([SMALL], **wanted)


def test_a_function_that_workers_cannot_import_is_refused_at_once():
    with ThreadPoolExecutor(1) as workers:
        for metric in (lambda model, setup: 1.0, eqx.Partial(largest)):
            with pytest.raises(OptionError, match=r"`metrics` is 'mine': .* at the top level"):
                run_all([SMALL], workers, metrics={"mine": metric})


def test_more_models_than_a_run_file_holds_are_refused(monkeypatch):
    monkeypatch.setattr("attnlab.comparisons.recording.MOST_NUMBERS", 100)
    (refused,) = run_all([SMALL_LINEAR], checkpoints=range(50))
    assert refused.state == "refused"
    assert "`checkpoints` is 50: " in refused.reason


@pytest.mark.slow
def test_runs_of_a_library_are_measured_where_it_has_their_models(monkeypatch):
    library, wanted = Library(None), {"metrics": METRICS, "checkpoints": (0, 7)}
    list(run_all([SMALL_LINEAR], library=library))
    # That has the last model alone, and is trained again.
    (trained,) = run_all([SMALL_LINEAR], library=library, **wanted)

    def never(*arguments):
        raise AssertionError("it was trained")

    monkeypatch.setattr("attnlab.comparisons.many.carry_out", never)
    (kept,) = run_all([SMALL_LINEAR], library=library, **wanted)
    assert kept.metrics == trained.metrics == by_hand(SMALL_LINEAR, [0, 7, 60])
    (last,) = run_all([SMALL_LINEAR], library=library, metrics={"largest": largest}, checkpoints=())
    assert last.metrics == {"largest": trained.metrics["largest"][-1:]}
    (failed,) = run_all([SMALL_LINEAR], library=library, metrics={"moved": moved}, checkpoints=())
    assert failed.reason.startswith("The metric 'moved' failed at step 60")
    assert library.count() == 2


@pytest.mark.slow
def test_metrics_are_summed_up_over_seeds():
    results = list(run_all([*LINEAR, SMALL], metrics={"largest": largest}, checkpoints=(30,)))
    linear, attention = summarise(results, baselines=False)
    ends = [result.metrics["largest"][-1][1] for result in results[:3]]
    assert linear.metrics["largest"] == student_interval(ends)
    assert figures_of(linear, "largest") == dict(enumerate(ends))
    assert attention.metrics["largest"].n == 1
    curve = curve_over_seeds(results[:3], "largest")
    assert curve.steps == (30, 60)
    assert curve.intervals[-1].mean == pytest.approx(np.mean(ends))
    # Of one row with itself nothing differs.
    assert compare_paired(linear, linear, "largest").difference.mean == 0
    with pytest.raises(OptionError, match="'exact_match', 'largest'"):
        figures_of(linear, "smallest")


@pytest.mark.slow
def test_metrics_are_in_json_and_csv_where_any_row_has_them():
    measured = list(run_all(LINEAR[:2], metrics={"largest": largest}, checkpoints=()))
    rows = summarise([*measured, *run_all([SMALL])], baselines=False)
    record, without = json.loads(json.dumps(to_records(rows)))
    values = [result.metrics["largest"][0][1] for result in measured]
    found = record["metrics"]["largest"]
    assert found["mean"] == pytest.approx(np.mean(values))
    assert found["low"] < found["mean"] < found["high"]
    assert found["by_seed"] == {"0": values[0], "1": values[1]}
    assert without["metrics"]["largest"] == {"mean": None, "low": None, "high": None, "by_seed": {}}
    first, second = csv.DictReader(io.StringIO(to_csv(rows)))
    assert float(first["metrics_largest_mean"]) == found["mean"]
    assert float(first["metrics_largest_by_seed_1"]) == values[1]
    assert second["metrics_largest_mean"] == ""
    assert "metrics" not in to_records(rows[1:])[0]
