"""What the charts of many runs are drawn from."""

import dataclasses

import numpy as np

from attnlab import charts
from attnlab.comparisons.grid import Setting
from attnlab.comparisons.summary import Row
from tests.unit.comparison_charts import KNOWN, LABELS, parallel_axes, rows

REFUSED = Row(Setting((("length", "0"),), None, "too short"))


def test_a_row_without_figures_has_its_line_and_no_marks():
    some = [*rows(), REFUSED]
    labels = (*LABELS, "third")
    assert set(charts.seeds_table(some, labels, "nll").setting) == set(LABELS)
    assert list(charts.means_table(some, labels, "nll").setting) == list(LABELS)
    assert set(charts.references_table(some, "nll").place) == {1, 2}
    assert len(charts.swept_table(some, "length", "batch", "nll")) == 2


def test_references_in_learned_share_go_from_nothing_to_all():
    table = charts.references_table(rows()[:1], "learned")
    known = dict(zip(table.reference, table.value, strict=True))
    assert known["uniform guess"] == 0
    assert known["best possible"] == 1
    # (ln 3 - 1.05) / (ln 3 - 0.9)
    assert np.isclose(known["majority"], 0.0486123 / 0.1986123, atol=1e-5)


def test_a_gap_is_the_loss_less_the_floor_and_needs_one():
    gaps = charts.bands_table(rows(), LABELS, "gap")
    losses = charts.bands_table(rows(), LABELS, "loss")
    assert np.allclose(losses.value - gaps.value, KNOWN.best.nll)
    unknown = [dataclasses.replace(row, references=None) for row in rows()]
    assert charts.bands_table(unknown, LABELS, "gap").empty
    assert charts.levels_table(unknown, "gap").empty


def test_levels_are_drawn_where_they_are_those_of_all():
    assert list(charts.levels_table(rows(), "loss").value) == [0.9, np.log(3)]
    first, second = rows()
    longer = dataclasses.replace(second.setting.experiment, length=5)
    other = dataclasses.replace(second, setting=Setting((), longer))
    assert charts.levels_table([first, other], "loss").empty


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
