"""Maps of what counts: their scales, their hues, and the rows of the final query."""

import numpy as np
import pytest
import vl_convert

from attnlab import charts
from attnlab.charts import as_picture
from attnlab.charts.core.colours import share_ramp, truth_ramp
from attnlab.models import AttentionMap
from attnlab.ui.inspect.comparisons import as_shares
from attnlab.ui.inspect.contributions_panel import contribution_table
from attnlab.ui.inspect.final_query_panel import final_rows
from attnlab.ui.inspect.view import View
from attnlab.ui.train.inside.shown import Choice
from tests.unit.chart_drawing import as_svg

SIZE = {"dark": False, "height": 200}
LOOK = {"length": 3, "title": "share", "most": 0.3, **SIZE}
VALUES = np.array([[0.2, 0.0, 0.0], [0.1, 0.2, 0.0], [0.0, 0.1, 0.2]])


def colour_scales(spec):
    """The colour scales of a chart and its layers."""
    own = spec.get("encoding", {}).get("color", {}).get("scale")
    scales = [] if own is None else [own]
    return scales + [scale for layer in spec.get("layer", ()) for scale in colour_scales(layer)]


def test_the_numbers_of_a_scale_are_those_of_its_colours():
    """Left to itself Vega rounds 0.15, the middle, to one digit."""
    map_, rows = charts.dependence_table(VALUES, VALUES), {"attends": VALUES[2], "truth": VALUES[2]}
    query = {key: LOOK[key] for key in ("title", "most", *SIZE)}
    for drawing in (
        charts.dependence_chart(map_, **LOOK),
        charts.final_query_chart(
            charts.final_query_table(rows), rows=tuple(rows), symbols=tuple("abc"), **query
        ),
    ):
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


def test_a_map_of_small_values_has_a_small_scale_and_its_numbers():
    spec = charts.dependence_chart(charts.dependence_table(VALUES), errors=False, **LOOK)
    colour = spec.specification()["encoding"]["color"]
    assert colour["scale"]["domain"] == [0, 0.3]
    assert colour["legend"]["values"] == [0, 0.15, 0.3]


def test_the_truth_is_grey_and_linear_wherever_it_is_drawn():
    table = charts.dependence_table(VALUES, VALUES / 10)
    (alone,) = colour_scales(charts.dependence_chart(table, **LOOK).specification())
    rows = charts.final_query_table({"attends": VALUES[-1], "truth": VALUES[-1]})
    drawing = charts.final_query_chart(
        rows, rows=("attends", "truth"), symbols=("a", "b", "c"), title="share", most=0.3, **SIZE
    )
    model, truth = colour_scales(drawing.specification())
    assert alone == truth
    assert truth["range"] == list(truth_ramp(dark=False))
    assert "type" not in truth
    assert model["range"] == list(share_ramp(dark=False))
    assert model["domain"] == truth["domain"]


def test_a_difference_has_the_same_reach_to_both_sides():
    table = charts.difference_table(VALUES, VALUES.T, 1)
    spec = charts.difference_chart(table, length=3, most=0.3, **SIZE).specification()
    assert spec["encoding"]["color"]["scale"]["domain"] == [-0.3, 0, 0.3]
    assert list(table["difference"]) == pytest.approx([0, 0.1, 0, 0, 0.1, 0])


def test_cells_are_those_that_the_mask_has():
    seen = np.triu(np.ones((3, 3), dtype=bool))
    table = charts.dependence_table(VALUES, seen=seen)
    assert list(zip(table["query"], table["key"], strict=True)) == [
        (1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3),
    ]  # fmt: skip
    alone = charts.dependence_table(VALUES[-1:], seen=seen[:1], first_query=3)
    assert list(alone["query"]) == [3, 3, 3]
    assert list(alone["value"]) == list(VALUES[-1])


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
    rows = final_rows((_heads(heads),), VALUES, 2 * VALUES, view)
    assert list(rows) == [*names, "depends", "truth"]
    last = 2 if heads == 9 else heads - 1
    np.testing.assert_array_equal(rows[names[-1]], np.eye(3)[last])
    np.testing.assert_array_equal(rows["depends"], VALUES[-1])
    np.testing.assert_array_equal(rows["truth"], 2 * VALUES[-1])


def test_shares_of_the_final_query_sum_to_one():
    rows = final_rows((), VALUES, 0 * VALUES, View(shares=True, choice=Choice()))
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
    """The labels of the rows and of the columns of a map that are seen."""
    map_ = np.tri(length)
    drawing = charts.dependence_chart(
        charts.dependence_table(map_, map_),
        length=length, title="share", most=1.0, dark=False, height=height,
    )  # fmt: skip
    return _cells_named(drawing, width=width)


def _cells_named(drawing, *, width):
    picture, seen = as_picture(drawing, title="", subtitles=[], width=width), []

    def walk(node):
        if node.get("role") == "axis-label":
            texts = [item for item in node["items"] if item.get("opacity", 1)]
            seen.append(sorted(int(item["text"]) for item in texts))
        for item in node.get("items", ()):
            walk(item)

    walk(vl_convert.vegalite_to_scenegraph(picture)["scenegraph"])
    columns, rows = seen
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
    matrix = charts.matrix_chart(
        charts.matrix_table(np.zeros((2, 13))),
        shape=(2, 13), row_title="", column_title="", domain=(0, 1),
        ramp=share_ramp(dark=False), dark=False,
    )  # fmt: skip
    assert len(_cells_named(matrix, width=width)[1]) == 13
