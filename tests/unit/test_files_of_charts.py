"""Files of charts have what a wide screen has, and look like figures."""

import io

import numpy as np
import pytest
from PIL import Image

from attnlab.charts import HeadPicture, heads_chart, to_png, to_svg
from attnlab.ui.core.page_charts import DrawnChart, chart_picture
from tests.unit.test_pictures import texts_of


def heads(count, length, height=330):
    pattern, mask = np.full((length, length), 0.99), np.tri(length, dtype=bool)
    maps = [HeadPicture(f"head {number}", pattern, mask) for number in range(1, count + 1)]
    look = {"cell": "attention", "key": "day", "trained": False, "height": height}
    return heads_chart(maps, read=length - 1, **look)


@pytest.mark.parametrize(("count", "length"), [(1, 10), (3, 10), (6, 10), (8, 24), (1, 40)])
def test_a_file_of_maps_has_the_numbers_of_a_wide_screen_and_no_empty_foot(count, length):
    drawing = heads(count, length)
    picture = chart_picture(DrawnChart(drawing, "words"), title="Attention", dark=False)
    svg = to_svg(picture)
    numbers = [part for part in svg.split("<text")[1:] if ">99<" in part]
    assert len(numbers) == count * length
    assert not any('opacity="0"' in part.split(">")[0] for part in numbers)
    image = np.asarray(Image.open(io.BytesIO(to_png(picture))).convert("L"))
    last = np.flatnonzero((image < 250).any(axis=1)).max()
    assert len(image) - last < 0.12 * len(image) + 32


def test_the_text_alternative_is_no_part_of_the_figure():
    alt = "A long description <of> the chart. " * 12
    svg = to_svg(chart_picture(DrawnChart(heads(1, 4), alt), title="Attention", dark=False))
    assert "<desc>A long description &lt;of&gt;" in svg
    assert not any("long description" in text for text in texts_of(svg))
    assert "Attention" in texts_of(svg)
    untitled = to_svg(chart_picture(DrawnChart(heads(1, 4), alt), title="", dark=False))
    assert "Attention" not in texts_of(untitled)


def test_a_caption_is_in_the_figure_by_choice_as_plain_text():
    chart = DrawnChart(heads(1, 4), "words")
    caption = "Rows are **queries**, and columns [keys](words#key). " * 3
    svg = to_svg(chart_picture(chart, title="Attention", caption=caption, dark=False))
    # It has several lines.
    letters = "".join("".join(texts_of(svg)).split())
    assert "Rowsarequeries,andcolumnskeys." * 3 in letters
    assert "queries" not in to_svg(chart_picture(chart, title="Attention", dark=False))
