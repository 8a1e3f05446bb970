"""The mean curve of several seeds, and its place on the loss chart."""

import dataclasses

import numpy as np
import pytest

from attnlab.charts import loss_chart, loss_table
from attnlab.comparisons.curves import curve_over_seeds
from attnlab.runs.history import empty_history
from attnlab.runs.result import Result
from attnlab.training.evaluation import Evaluation
from tests.unit.chart_drawing import marks_of
from tests.unit.small_experiments import SMALL

LOSSES = {0: (1.0, 1.2, 1.4), 5: (0.9, 1.1, 0.7), 20: (0.5, 0.5, 0.5)}


def result(seed, steps):
    tests = [(step, Evaluation(LOSSES[step][seed], 0.01, 0.4, 0.01)) for step in steps]
    experiment = dataclasses.replace(SMALL, seed=seed)
    return Result(experiment, "done", tests[-1][1], steps=20, tests=tuple(tests))


def test_the_mean_is_of_the_same_runs_at_every_step():
    curve = curve_over_seeds([result(0, (0, 5, 20)), result(1, (0, 20)), result(2, (0, 5, 20))])
    assert curve.steps == (0, 20)
    assert [each.n for each in curve.intervals] == [3, 3]
    # t of 2 degrees of freedom at 95 % is 4.3027; the standard error of 1.0, 1.2, 1.4 is 0.2/√3.
    first = curve.intervals[0]
    assert first.mean == pytest.approx(1.2)
    assert first.high - first.mean == pytest.approx(4.3027 * 0.2 / np.sqrt(3), rel=1e-4)
    assert curve.intervals[1].low == pytest.approx(0.5)


def test_of_no_run_there_is_no_step():
    assert curve_over_seeds([]).steps == ()


def test_the_band_stands_on_the_chart_only_where_it_is_asked_for():
    curve = curve_over_seeds([result(seed, (0, 5, 20)) for seed in range(3)])
    plain = {"known": {"floor": 0.4}, "last_step": 20, "latest": None, "cursor": None}
    with_band = loss_table(empty_history(), **plain, seeds=curve)
    rows = with_band[with_band.series == "over seeds"]
    np.testing.assert_allclose(rows.nats, [1.2, 0.9, 0.5])
    assert (rows.low < rows.nats + 1e-9).all()
    assert (rows.high > rows.nats - 1e-9).all()
    look = {"last_step": 20, "dark": False, "height": 100}
    areas = [mark for mark in marks_of(loss_chart(with_band, **look, band=True)) if "area" in mark]
    assert len(areas) == 1
    assert "low" in areas[0]
    assert "high" in areas[0]
    without = loss_table(empty_history(), **plain)
    assert "low" not in without.columns
    assert not [mark for mark in marks_of(loss_chart(without, **look)) if "area" in mark]
