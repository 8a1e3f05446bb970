"""Maps of what counts: their scales, their hues, and the rows of the final query."""

import re

import numpy as np
import pandas as pd
import pytest

from attnlab import charts
from attnlab.inspection import Comparison
from attnlab.models import AttentionMap
from attnlab.ui.inspect.cell_panel import contribution_table
from attnlab.ui.inspect.prediction_panel import final_rows
from attnlab.ui.inspect.view import View, as_shares
from attnlab.ui.train.inside.shown import Choice
from tests.unit.chart_drawing import as_svg, scene

VALUES = np.array([[0.2, 0.0, 0.0], [0.1, 0.2, 0.0], [0.0, 0.1, 0.2]])
LOOK = {"title": "share", "domain": (0, 0.3), "titles": ("key", "query")}
ROWS = {"attends": VALUES[-1], "truth": VALUES[-1]}


def cells_of(drawing):
    """The widths and heights of the cells that are drawn, in pixels."""
    (cells,) = (items for kind, items in scene(drawing) if kind == "rect")
    return {(item["width"], item["height"]) for item in cells}


@pytest.mark.parametrize("length", [1, 4, 10, 72])
def test_maps_have_square_cells_and_fit_a_phone(length):
    ((width, height),) = cells_of(charts.map_chart(np.eye(length), **LOOK))
    assert width == pytest.approx(height)
    assert 3 <= width <= 250 / length


def test_a_circle_is_a_circle():
    turns = np.linspace(0, 2 * np.pi, 17)
    path = {"position": range(len(turns)), "x": 2 + np.cos(turns), "y": np.sin(turns)}
    table = pd.DataFrame({**path, "name": ""})
    drawing = charts.path_chart(table, domain=(-1.0, 3.0), x_title="x", y_title="y")
    points = next(items for kind, items in scene(drawing) if kind == "symbol")
    across, up = (np.ptp([point[axis] for point in points]) for axis in "xy")
    assert across == pytest.approx(up)


def final_query():
    return charts.final_query_chart(ROWS, symbols=tuple("abc"), most=0.3, title="share")


def test_the_numbers_of_a_scale_are_those_of_its_colours():
    """Left to itself Vega rounds 0.15, the middle, to one digit."""
    for drawing in (charts.map_chart(VALUES, **LOOK), final_query()):
        svg = as_svg(drawing.specification())
        assert [number for number in ("0", "0.15", "0.3") if f">{number}<" not in svg] == []


@pytest.mark.parametrize(
    ("largest", "top"),
    [(0.0, 0.01), (0.004, 0.01), (0.02, 0.03), (0.1, 0.1), (0.29, 0.3), (0.31, 1.0), (1.0, 1.0),
     (1.0000001, 1.0), (1.0986, 3.0), (4.2, 10.0)],
)  # fmt: skip
def test_the_scale_ends_at_the_next_round_number(largest, top):
    assert charts.top_of_scale(np.array([0.0, -largest])) == top
    assert charts.top_of_scale(np.zeros(2), np.array([largest])) == top


def test_the_truth_is_grey_and_what_is_learned_violet():
    def colours(drawing):
        return set(re.findall(r'fill="(rgb[^"]*)"', as_svg(drawing.specification())))

    def is_grey(colour):
        channels = [int(number) for number in re.findall(r"\d+", colour)]
        return max(channels) - min(channels) < 30

    truth = colours(charts.map_chart(VALUES, ramp=charts.TRUTHS, **LOOK))
    learned = colours(charts.map_chart(VALUES, **LOOK))
    assert truth
    assert all(map(is_grey, truth))
    assert not all(map(is_grey, learned))
    # The same values in the same greys and violets, a row each.
    both = colours(final_query())
    assert truth & both
    assert learned & both


def test_cells_are_those_that_the_mask_has():
    seen = np.triu(np.ones((3, 3), dtype=bool))
    table = charts.map_chart(VALUES, seen=seen, **LOOK).tables["table"]
    assert list(zip(table["query"], table["key"], strict=True)) == [
        (1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3),
    ]  # fmt: skip
    row = charts.map_chart(VALUES[-1:], seen=seen[:1], first_query=3, queries=(3,), **LOOK)
    alone = row.tables["table"]
    assert list(alone["query"]) == [3, 3, 3]
    assert list(alone["value"]) == list(VALUES[-1])


def test_rows_that_are_not_trained_are_faded():
    (cells,) = (
        items
        for kind, items in scene(charts.map_chart(VALUES, trained_from=3, **LOOK))
        if kind == "rect"
    )
    by_row: dict[float, set[float]] = {}
    for cell in cells:
        by_row.setdefault(cell["y"], set()).add(cell.get("opacity", 1))
    faded, also_faded, trained = (by_row[y] for y in sorted(by_row))
    assert faded == also_faded
    assert trained == {1}
    assert max(faded) < 0.5


def test_zeros_of_the_final_query_have_no_number():
    (texts,) = (items for kind, items in scene(final_query()) if kind == "text")
    seen = [item["text"] for item in texts if item.get("opacity", 1)]
    assert seen == ["0.10", "0.20"] * 2


def test_rounding_is_not_blown_up_to_shares():
    shares = as_shares(np.array([[1e-16, 3e-17], [0.1, 0.3]]))
    np.testing.assert_allclose(shares, [[0, 0], [0.25, 0.75]])


def _heads(count):
    pattern = np.stack([np.eye(3)[[0, 1, head % 3]] for head in range(count)])
    return AttentionMap(pattern, np.ones((3, 3), dtype=bool), layer=0)


@pytest.mark.parametrize(
    ("heads", "names"),
    [(1, ["attends"]), (2, ["attends, head 1", "attends, head 2"]), (9, ["attends, head 3"])],
)
def test_the_final_query_has_a_row_for_each_head_or_for_the_chosen_one(heads, names):
    view = View(shares=False, choice=Choice(0, 0, (2,)))
    rows = final_rows(Comparison((_heads(heads),), VALUES, VALUES, 2 * VALUES), view)
    assert list(rows) == [*names, "depends", "truth"]
    last = 2 if heads == 9 else heads - 1
    np.testing.assert_array_equal(rows[names[-1]], np.eye(3)[last])
    np.testing.assert_array_equal(rows["depends"], VALUES[-1])
    np.testing.assert_array_equal(rows["truth"], 2 * VALUES[-1])


def test_shares_of_the_final_query_sum_to_one():
    found = Comparison((), VALUES, VALUES, 0 * VALUES)
    rows = final_rows(found, View(shares=True, choice=Choice()))
    assert list(rows) == ["depends", "truth"]
    np.testing.assert_allclose(rows["depends"], [0, 1 / 3, 2 / 3])
    np.testing.assert_array_equal(rows["truth"], 0)


def test_contributions_are_centred_and_end_with_their_sum():
    found = {"embedding": np.array([1.0, 2.0, 3.0]), "layer 1, head 1": np.array([-1.0, 0.0, 4.0])}
    table = contribution_table(found, ("a", "b", "c"))
    assert list(table.index) == ["embedding", "layer 1, head 1", "logits"]
    assert list(table.loc["embedding"]) == ["−1.00", "+0.00", "+1.00"]
    assert list(table.loc["logits"]) == ["−3.00", "−1.00", "+4.00"]


def _days_named(length, *, width, height):
    """The labels of the rows and of the columns of a matrix that are seen."""
    matrix = charts.Matrix("shares", np.tri(length), "query", "key", shares=True)
    drawing = charts.matrix_chart(matrix, height=height)
    return _cells_named(drawing, width=width)


def _cells_named(drawing, *, width):
    columns, rows = (
        sorted(int(item["text"]) for item in items if item.get("opacity", 1))
        for _, items in scene(drawing, width, "axis-label")
    )
    return rows, columns


def test_names_of_days_leave_out_every_other_one_where_they_would_touch():
    everyone, odd = list(range(1, 20)), list(range(1, 20, 2))
    assert _days_named(19, width=600, height=420) == (everyone, everyone)
    assert _days_named(19, width=300, height=420) == (everyone, odd)
    assert _days_named(19, width=600, height=140) == (odd, everyone)
    ten = list(range(1, 11))
    assert _days_named(10, width=300, height=200) == (ten, ten)


@pytest.mark.parametrize("width", [419, 860, 916])
def test_the_first_cell_has_its_name_where_widths_are_no_whole_numbers(width):
    days = list(range(1, 14))
    assert _days_named(13, width=width, height=420) == (days, days)
    matrix = charts.matrix_chart(charts.Matrix("", np.zeros((2, 13)), "", "", shares=True))
    assert len(_cells_named(matrix, width=width)[1]) == 13
