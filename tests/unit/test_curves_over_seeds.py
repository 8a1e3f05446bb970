"""The mean curve of several seeds, and its place on the loss chart."""

import dataclasses

import numpy as np
import pytest

from attnlab.comparisons.intervals import curve_over_seeds
from attnlab.runs.run_summary import RunSummary
from attnlab.training.evaluation import Evaluation
from attnlab.ui.train.loss_panel import seeds_data
from tests.unit.small_experiments import SMALL

LOSSES = {0: (1.0, 1.2, 1.4), 5: (0.9, 1.1, 0.7), 20: (0.5, 0.5, 0.5)}


def result(seed, steps):
    tests = [(step, Evaluation(LOSSES[step][seed], 0.01, 0.4, 0.01)) for step in steps]
    experiment = dataclasses.replace(SMALL, seed=seed)
    return RunSummary(experiment, "done", tests[-1][1], steps=20, tests=tuple(tests))


def test_the_mean_is_of_the_same_runs_at_every_step():
    curve = curve_over_seeds([result(0, (0, 5, 20)), result(1, (0, 20)), result(2, (0, 5, 20))])
    assert curve.steps == (0, 20)
    assert [each.n for each in curve.intervals] == [3, 3]
    # t of 2 degrees of freedom at 95 % is 4.3027; the standard error of 1.0, 1.2, 1.4 is 0.2/√3.
    first = curve.intervals[0]
    assert first.mean == pytest.approx(1.2)
    assert first.high - first.mean == pytest.approx(4.3027 * 0.2 / np.sqrt(3), rel=1e-4)
    # Equal losses are known as well as their tests say: 1.96 · 0.01/√3.
    assert curve.intervals[1].low == pytest.approx(0.5 - 1.959964 * 0.01 / np.sqrt(3))


def falling(seed, steps):
    """A run whose test loss falls from 1.1 towards 0.94 within some hundred steps."""
    tests = tuple(
        (int(step), Evaluation(0.94 + 0.001 * seed + 0.16 * np.exp(-step / 80), 0.005, 0.5, 0.005))
        for step in steps
    )
    experiment = dataclasses.replace(SMALL, seed=seed)
    return RunSummary(experiment, "done", tests[-1][1], steps=tests[-1][0], tests=tests)


def test_runs_with_few_tested_steps_in_common_have_the_curve_that_each_of_them_has():
    """One run is tested at 116 steps, others at 23; between 63 and 2,000 none is common."""
    often = sorted({*range(64), *range(70, 2_000, 37), 2_000})
    rarely = [0, 1, 2, 4, 8, 16, 32, 63, *range(126, 2_000, 126), 2_000]
    assert [step for step in rarely if step in often and step > 63] == [2_000]
    runs = [falling(0, often), falling(1, rarely), falling(2, rarely)]
    curve = curve_over_seeds(runs)
    means = [each.mean for each in curve.intervals]
    assert curve.steps == tuple(rarely)
    for step in (200, 500, 1_000, 1_500):
        each = [np.interp(step, *zip(*((s, t.nll) for s, t in run.tests), strict=True))
                for run in runs]  # fmt: skip
        assert np.interp(step, curve.steps, means) == pytest.approx(np.mean(each), abs=0.002)
    assert all(each.high - each.low > 0 for each in curve.intervals)
    assert {seed: len(values) for seed, values in curve.each.items()} == dict.fromkeys(
        range(3), len(rarely)
    )


def test_of_runs_that_span_different_steps_the_curve_is_where_all_of_them_are():
    curve = curve_over_seeds([result(0, (0, 5, 20)), result(1, (5, 20))])
    assert curve.steps == (5, 20)
    apart = dataclasses.replace(result(2, (0, 5)), steps=5)
    assert curve_over_seeds([result(1, (20,)), apart]).steps == ()


def test_two_seeds_have_lines_and_no_band():
    curve = curve_over_seeds([result(seed, (0, 5, 20)) for seed in range(2)])
    (_, *each), bands = seeds_data(curve)
    assert bands == []
    losses = [[nats for _, nats in one["points"]] for one in each]
    assert losses == [[1.0, 0.9, 0.5], [1.2, 1.1, 0.5]]


def test_of_no_run_there_is_no_step():
    assert curve_over_seeds([]).steps == ()


def test_the_band_of_three_seeds_is_around_their_mean():
    curve = curve_over_seeds([result(seed, (0, 5, 20)) for seed in range(3)])
    (mean, *_), (band,) = seeds_data(curve)
    assert [point[1] for point in mean["points"]] == pytest.approx([1.2, 0.9, 0.5])
    means = np.array([point[1] for point in mean["points"]])
    assert (np.array(band["low"]) < means).all()
    assert (np.array(band["high"]) > means).all()
