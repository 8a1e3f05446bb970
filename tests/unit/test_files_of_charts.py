"""Files of charts have what a wide screen has, and look like figures."""

import io

import numpy as np
import pytest
from PIL import Image

from attnlab.charts import heads_chart, heads_table, to_png, to_svg
from attnlab.charts.heads import MapWords
from attnlab.ui.core.page_charts import DrawnChart, chart_picture
from tests.unit.test_pictures import texts_of


def heads(count, length, height=330):
    words = MapWords(tuple(f"head {n}" for n in range(1, count + 1)), "attention", "day")
    patterns = np.full((count, length, length), 0.99)
    rows = {"words": words, "read": length - 1, "symbols": None}
    mask = np.tri(length, dtype=bool)
    table = heads_table(patterns, mask, heads=range(count), trained=False, **rows)
    return heads_chart(table, shape=mask.shape, height=height, **rows)


@pytest.mark.parametrize(("count", "length"), [(1, 10), (3, 10), (6, 10), (8, 24), (1, 40)])
def test_a_file_of_maps_has_the_numbers_of_a_wide_screen_and_no_empty_foot(count, length):
    drawing = heads(count, length)
    picture = chart_picture("Attention", DrawnChart(drawing, "words"), dark=False)
    svg = to_svg(picture)
    numbers = [part for part in svg.split("<text")[1:] if ">99<" in part]
    assert len(numbers) == count * length
    assert not any('opacity="0"' in part.split(">")[0] for part in numbers)
    image = np.asarray(Image.open(io.BytesIO(to_png(picture))).convert("L"))
    last = np.flatnonzero((image < 250).any(axis=1)).max()
    assert len(image) - last < 0.12 * len(image) + 32


def test_the_text_alternative_is_no_part_of_the_figure():
    alt = "A long description <of> the chart. " * 12
    svg = to_svg(chart_picture("Attention", DrawnChart(heads(1, 4), alt), dark=False))
    assert "<desc>A long description &lt;of&gt;" in svg
    assert not any("long description" in text for text in texts_of(svg))
    assert "Attention" in texts_of(svg)
