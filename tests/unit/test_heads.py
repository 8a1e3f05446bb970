"""Heads side by side: square cells that fit their place, and what is marked on them."""

import numpy as np
import pytest

from attnlab.charts import MapWords, heads_chart, heads_table, informative_table
from tests.unit.chart_drawing import scene

# What a chart has at 1280 × 720, at 1024 × 768 and on a phone.
_WIDTHS = (984, 728, 350)


def _patterns(heads, days):
    mask = np.tril(np.ones((days, days), dtype=bool))
    return np.repeat((mask / mask.sum(axis=1, keepdims=True))[None], heads, axis=0), mask


def _words(heads):
    names = tuple(f"head {head + 1}" for head in range(heads))
    return MapWords(names, "share of attention", "day attended to")


def _scene(width, heads):
    """The cells and the frames that are drawn, in pixels."""
    patterns, mask = _patterns(heads, 10)
    rows = {"words": _words(heads), "read": 9, "symbols": None}
    table = heads_table(patterns, mask, heads=range(heads), trained=False, **rows)
    marks = informative_table([1, 4], heads)
    drawing = heads_chart(table, marks, shape=mask.shape, height=330, **rows)
    return [items for kind, items in scene(drawing, width) if kind == "rect"]


def _sizes(cells):
    return [(cell["width"], cell["height"]) for cell in cells]


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("width", _WIDTHS)
def test_cells_are_square_and_within_their_place(width, heads):
    cells, frames = _scene(width, heads)
    for across, down in _sizes(cells):
        assert across == pytest.approx(down, abs=0.01)
    assert len({round(across, 6) for across, _ in _sizes(cells)}) == 1
    for item in (*cells, *frames):
        assert -1 <= item["x"] <= item["x"] + item["width"] <= width + 1.5
        assert -1 <= item["y"] <= item["y"] + item["height"] <= 330


@pytest.mark.parametrize(("width", "heads"), [(984, 3), (984, 1), (728, 2), (350, 1)])
def test_the_cells_of_ten_days_have_24_pixels(width, heads):
    cells, _ = _scene(width, heads)
    # A pixel between two of them.
    assert cells[0]["width"] + 1 >= 24


def test_heads_go_below_each_other_where_they_would_be_too_small():
    (_, wide), (_, narrow) = _scene(984, 4), _scene(350, 4)
    assert len({frame["y"] for frame in wide}) == 1
    assert len({frame["y"] for frame in narrow}) > 1


def test_rows_without_part_in_the_loss_are_paler_and_the_shares_of_the_other_are_written():
    patterns, mask = _patterns(1, 4)
    rows = {"heads": (0,), "words": _words(1), "read": 3, "symbols": None}
    table = heads_table(patterns, mask, trained=False, **rows)
    last = table["query_day"] == "4"
    assert (table.loc[last, "strength"] == 1).all()
    assert (table.loc[~last, "strength"] < 0.5).all()
    assert list(table.loc[last, "number"]) == ["25"] * 4
    assert set(table.loc[~last, "number"]) == {""}
    assert (heads_table(patterns, mask, trained=True, **rows)["strength"] == 1).all()
    # Of several layers only the last has such rows.
    two = rows | {"heads": (0, 0), "words": _words(2)}
    of_each = heads_table(patterns, mask, trained=(True, False), **two)
    assert (of_each["strength"][of_each["place"] == 0] == 1).all()
    assert (of_each["strength"][of_each["place"] == 1] < 1).any()
