"""Every chart: the marks it is made of, the columns they show, and that they are drawn."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from attnlab import charts
from attnlab.charts.core.drawing import Drawing
from tests.unit import (
    comparison_charts,
    lesson_charts,
    process_charts,
    published_charts,
    run_charts,
)
from tests.unit.chart_drawing import drawn, layers_of, letter_sizes, marks_of, own_rows


class Expected(NamedTuple):
    """By hand. `marks` are marks with the columns they show, as `marks_of` says them; `items` is
    how many are drawn: `symbol` is a point and `rect` a bar or a tick once drawn, a `path` the
    ground around a point in which the pointer finds it.
    """

    draw: Callable[[], Drawing]
    marks: list[str]
    items: dict[str, int]


EXPECTED = {
    name: Expected(getattr(room, name), *made_of)
    for room in (process_charts, run_charts, lesson_charts, comparison_charts, published_charts)
    for name, made_of in room.EXPECTED.items()
}


def test_every_chart_is_tested():
    assert {name for name in charts.__all__ if name.endswith("_chart")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_its_marks_show_their_columns_and_every_row_is_drawn(name):
    drawing = EXPECTED[name].draw()
    marks, items = EXPECTED[name].marks, EXPECTED[name].items
    assert list(marks_of(drawing)) == marks
    assert drawn(drawing) == items
    columns = {column for table in drawing.tables.values() for column in table.columns}
    own = {column for rows in own_rows(drawing) for row in rows for column in row}
    shown = {word.split("=")[1] for mark in marks for word in mark.split()[1:]}
    # Those of a frequency are calculated where they are drawn.
    assert shown - {"series", "first", "second"} <= columns | own
    assert all(len(table) for table in drawing.tables.values())


@pytest.mark.parametrize("name", EXPECTED)
def test_words_have_a_colour_of_their_own(name):
    # Without one they are black, also on dark ground.
    for mark, encoding in layers_of(EXPECTED[name].draw().specification()):
        assert mark["type"] != "text" or "color" in mark | encoding


@pytest.mark.parametrize("name", EXPECTED)
def test_channels_of_one_field_share_a_legend_or_have_none(name):
    # Vega makes one legend of both, and warns of each chart where they disagree.
    for _, encoding in layers_of(EXPECTED[name].draw().specification()):
        has_legend: dict[str, bool] = {}
        for channel in encoding.keys() & {"color", "shape", "strokeDash", "opacity", "size"}:
            if (field := encoding[channel].get("field")) is not None:
                is_there = encoding[channel].get("legend", {}) is not None
                assert has_legend.setdefault(field, is_there) == is_there
            # What is ordered has no form of its own.
            assert (channel, encoding[channel].get("type")) != ("shape", "ordinal")


# The letters in the cells of a matrix are as large as their cells.
@pytest.mark.parametrize("name", sorted(EXPECTED.keys() - {"matrix_chart"}))
def test_large_type_enlarges_all_letters_and_nothing_else(name):
    drawing = EXPECTED[name].draw()
    large = charts.with_large_type(drawing.specification())
    assert large["datasets"] == drawing.specification()["datasets"]
    assert min(letter_sizes(large), default=99) > 14
