"""Charts whose axis ends before the data mark the values that lie beyond it."""

import numpy as np
import pytest

from attnlab.charts import Scale, lines_chart, series_table
from tests.unit.chart_drawing import scene


@pytest.mark.parametrize("look", ["line", "band", "dots", "points"])
def test_a_value_beyond_the_axis_is_an_arrow_at_its_edge(look):
    table = series_table("", [1, 2, 3, 4, 5], [0.5, 3.0, -2.0, 1.0, np.nan])
    y = Scale("y", domain=(0.0, 1.0))
    drawing = lines_chart(table, x=Scale("x"), y=y, look=look)
    symbols = [item for kind, items in scene(drawing) if kind == "symbol" for item in items]
    arrows = {
        item["shape"]: item["y"]
        for item in symbols
        if item["shape"].startswith("triangle") and item.get("opacity", 1) == 1
    }
    height = max(item["y"] for item in symbols)
    assert arrows == {"triangle-up": 0, "triangle-down": height}
    within = lines_chart(table[table["value"] == 0.5], x=Scale("x"), y=y, look=look)
    shapes = {i["shape"] for kind, items in scene(within) if kind == "symbol" for i in items}
    assert shapes == {"circle"}
