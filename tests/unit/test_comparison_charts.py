"""What the charts of many runs are drawn from."""

import dataclasses

import numpy as np
import pytest

from attnlab import charts
from attnlab.comparisons.grid import Setting
from attnlab.comparisons.summary import Row
from attnlab.optimum import Best
from tests.unit.chart_examples import KNOWN, LABELS, parallel_axes, rows
from tests.unit.made_up_results import SHORT, evaluation, row_of

REFUSED = Row(Setting((("length", "0"),), None, "too short"))


def test_a_row_without_figures_has_its_line_and_no_marks():
    some = [*rows(), REFUSED]
    labels = (*LABELS, "third")
    runs = charts.dots_chart(some, labels, "nll").tables["runs"]
    assert set(runs.setting) == set(LABELS)
    assert list(charts.means_table(some, labels, "nll").setting) == list(LABELS)
    assert set(charts.references_table(some, "nll").place) == {1, 2}
    assert len(charts.swept_table(some, "length", "batch", "nll")) == 2


@pytest.mark.parametrize("count", [1, 2, 20])
def test_every_setting_has_its_line_however_few_there_are(count):
    """Legends and axes stand beside the height of the lines; else two would have 7 pixels each."""
    some, labels = [rows()[0]] * count, tuple(map(str, range(count)))
    drawing = charts.dots_chart(some, labels, "nll")
    form = drawing.specification()
    assert form["autosize"] == {"type": "fit-x", "contains": "padding"}
    assert form["height"] / count >= 30


def test_references_in_learned_share_go_from_nothing_to_all():
    table = charts.references_table(rows()[:1], "learned")
    known = dict(zip(table.reference, table.value, strict=True))
    assert known["uniform guess"] == 0
    assert known["best possible"] == 1
    # (ln 3 - 1.05) / (ln 3 - 0.9)
    assert np.isclose(known["majority"], 0.0486123 / 0.1986123, atol=1e-5)


def bands(rows, labels, measure):
    """The tables of learning curves: means, single seeds and known levels."""
    return charts.bands_chart(rows, labels, measure=measure).tables


def test_a_gap_is_the_loss_less_the_floor_and_needs_one():
    gaps, losses = (bands(rows(), LABELS, measure) for measure in ("gap", "loss"))
    assert np.allclose(losses["table"].value - gaps["table"].value, KNOWN.best.nll)
    unknown = [dataclasses.replace(row, references=None) for row in rows()]
    found = bands(unknown, LABELS, "gap")
    assert found["table"].empty
    assert found["known"].empty


def three_seeds(losses, **changes):
    """A row of three seeds with these accuracies or losses at the steps 0 and 10."""
    row = row_of(SHORT, [1.0] * len(losses[0]))
    tests = [
        tuple((10 * at, evaluation(each, each)) for at, each in enumerate(of_seed))
        for of_seed in zip(*losses, strict=True)
    ]
    runs = tuple(
        dataclasses.replace(run, tests=each[:-1], evaluation=each[-1][1], steps=10)
        for run, each in zip(row.results, tests, strict=True)
    )
    return dataclasses.replace(row, results=runs, references=KNOWN, **changes)


def test_the_error_of_an_estimated_floor_widens_the_band_of_a_gap():
    """By hand: t of 2 degrees is 4.302653, and 1.959964 · 0.004 is the floor's part."""
    losses = [0.5, 0.6, 0.7], [0.04, 0.05, 0.06]
    estimated = dataclasses.replace(KNOWN, best=Best(0.03, 0.9, nll_stderr=0.004))
    row = dataclasses.replace(three_seeds(losses), references=estimated)
    end = bands([row], LABELS[:1], "gap")["table"].iloc[-1]
    half = np.hypot(4.302653 * 0.01 / np.sqrt(3), 1.959964 * 0.004)
    assert np.allclose((end.value, end.low, end.high), (0.02, 0.02 - half, 0.02 + half), atol=1e-6)


def test_a_band_of_accuracies_ends_at_1_and_two_seeds_have_none():
    row = three_seeds(([0.3, 0.4, 0.5], [0.99, 1.0, 1.0]))
    table = bands([row], LABELS[:1], "accuracy")["table"]
    assert table.high.max() == 1.0
    assert table.interval.iloc[-1].endswith(" to 1.0000")
    two = three_seeds(([0.3, 0.4], [0.99, 1.0]))
    table = bands([two], LABELS[:1], "accuracy")["table"]
    assert table.low.isna().all()
    assert set(table.interval) == {"–"}


def test_every_seed_is_a_line_where_there_are_few():
    losses = np.linspace(0.9, 1.1, 11)
    few, many = (three_seeds(([*losses[:n]], [*losses[:n]])) for n in (10, 11))
    assert set(bands([few], LABELS[:1], "loss")["each"].seed) == set(range(10))
    assert bands([many], LABELS[:1], "loss")["each"].empty
    gap = bands([few], LABELS[:1], "gap")["each"]
    assert np.allclose(gap[gap.seed == 0].value, 0.9 - KNOWN.best.nll)


def test_levels_are_drawn_where_they_are_those_of_all():
    levels = bands(rows(), LABELS, "loss")["known"]
    assert list(dict.fromkeys(levels.level)) == [0.9, np.log(3)]
    first, second = rows()
    longer = dataclasses.replace(second.setting.experiment, length=5)
    other = dataclasses.replace(second, setting=Setting((), longer))
    assert bands([first, other], LABELS, "loss")["known"].empty


def test_a_box_holds_the_lines_that_pass_it_on_every_axis():
    axes = parallel_axes()
    assert charts.within(axes, (-0.2, 0.2), (0.5, 1.0)) == (False, True)
    assert charts.within(axes, (-0.2, 0.2), (1.0, 0.0)) == (True, True)
    # The second has no place on the second axis.
    assert charts.within(axes, (-0.2, 1.2), (0.0, 1.0)) == (True, False)
    # Between the axes there is nothing to hold.
    assert charts.within(axes, (0.3, 0.6), (0.0, 0.1)) == (True, True)


def test_a_cell_of_several_settings_is_their_mean():
    first, second = rows()
    same = dataclasses.replace(
        second, setting=Setting(first.setting.options, second.setting.experiment)
    )
    table = charts.swept_table([first, same], "length", "batch", "nll")
    assert list(table.settings) == [2]
    assert np.isclose(table.value[0], (0.95 + 0.96) / 2)
