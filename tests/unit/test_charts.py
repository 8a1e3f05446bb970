"""Every chart: that it is drawn, in colours that each theme has, and in large type."""

import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from attnlab import charts
from attnlab.charts import as_picture, to_png
from attnlab.charts.lines import Series, legend_columns
from attnlab.charts.style import on_dark
from attnlab.ui.in_context.strategies_panel import _rules
from tests.unit.chart_drawing import as_svg, drawn, layers_of, letter_sizes
from tests.unit.chart_examples import EXAMPLES

_COLOUR = re.compile(r"#[0-9a-f]{6}")


def test_every_chart_is_tested():
    assert {name for name in vars(charts) if name.endswith("_chart")} <= set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_drawn_from_every_table(name):
    drawing = EXAMPLES[name]()
    assert sum(drawn(drawing).values()) > 0
    assert all(len(table) for table in drawing.tables.values())


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_colour_has_a_counterpart_on_dark_themes(name):
    drawing = EXAMPLES[name]()
    light = set(_COLOUR.findall(drawing.spec))
    # Hues of the test's own data.
    for colour in light - {"#888888", "#000000"}:
        assert on_dark(colour) != colour
    svg = as_svg(drawing.specification(dark=True))
    assert not light & set(_COLOUR.findall(svg)) - {"#888888", "#000000"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_words_have_a_colour_of_their_own(name):
    # Without one they are black, also on dark themes.
    for mark, encoding in layers_of(EXAMPLES[name]().specification()):
        assert mark["type"] != "text" or "color" in mark | encoding


@pytest.mark.parametrize("name", EXAMPLES)
def test_channels_of_one_field_share_a_legend_or_have_none(name):
    # Vega makes one legend of both, and warns of each chart where they disagree.
    for _, encoding in layers_of(EXAMPLES[name]().specification()):
        has_legend: dict[str, bool] = {}
        for channel in encoding.keys() & {"color", "shape", "strokeDash", "opacity", "size"}:
            if (field := encoding[channel].get("field")) is not None:
                is_there = encoding[channel].get("legend", {}) is not None
                assert has_legend.setdefault(field, is_there) == is_there
            # What is ordered has no shape.
            assert (channel, encoding[channel].get("type")) != ("shape", "ordinal")


# The letters in the cells of a matrix are as large as their cells.
@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - {"matrix_chart", "tokens"}))
def test_large_type_enlarges_all_letters_and_nothing_else(name):
    drawing = EXAMPLES[name]()
    large = drawing.specification(large=True)
    assert large["datasets"] == drawing.specification()["datasets"]
    assert min(letter_sizes(large), default=99) > 14


FOLDER = Path(__file__).parents[1] / "data" / "charts"
# Charts without emoji, which each machine draws with its own font.
NAMES = (
    "calibration_chart", "dots_chart", "heads_chart", "learning_chart",
    "matrix_chart", "parallel_chart", "plane_chart", "published_chart", "shares_chart",
)  # fmt: skip
# Of 255, where four dots are averaged: renderers may differ in the edges of letters.
TOLERANCE = 16


def rendered(name):
    """The chart as an image, one dot a unit."""
    drawing = EXAMPLES[name]()
    picture = as_picture(drawing, title=name, subtitles=["as it was kept"], width=300)
    image = Image.open(io.BytesIO(to_png(picture))).convert("RGB")
    return image.reduce(2)


@pytest.mark.parametrize("name", NAMES)
def test_a_chart_looks_as_it_did(name):
    found, kept = rendered(name), Image.open(FOLDER / f"{name}.png").convert("RGB")
    assert found.size == kept.size
    found, kept = (np.asarray(image.reduce(2), dtype=int) for image in (found, kept))
    assert np.abs(found - kept).max() <= TOLERANCE


def _columns_at(width, names):
    thresholds = re.findall(r"width > (\d+) \? (\d+)", legend_columns(names).to_dict()["expr"])
    return next((int(columns) for wide, columns in thresholds if width > int(wide)), 1)


def test_a_legend_has_as_many_columns_as_its_chart_has_room_for():
    short, long = ["gru", "lstm", "rnn", "ssm"], ["in-context bigram model"] * 4
    assert [_columns_at(width, short) for width in (60, 250, 600)] == [1, 4, 4]
    assert [_columns_at(width, long) for width in (250, 600, 900)] == [1, 3, 4]
    assert _columns_at(100, ["alone"]) == 1


def test_on_a_phone_every_column_of_a_swept_map_has_its_name():
    processes = ("markov", "recall", "ndays10", "ndays15", "dotmod")
    table = pd.DataFrame(
        [(each, "mlp", 0.5, 1) for each in processes],
        columns=["across", "down", "value", "settings"],
    )
    drawing = charts.swept_chart(
        table,
        figure="learned",
        titles=("process", "model"),
        across=processes,
        down=("mlp",),
        domain=(0.0, 1.0),
    )
    for width, turned in ((170, 5), (600, 0)):
        text = as_svg(drawing.specification() | {"width": width})
        labels = text[text.index("role-axis-label") :]
        assert all(f">{each}<" in labels for each in processes)
        assert (
            len(re.findall(r"rotate\(-90\)[^>]*>(?:markov|recall|ndays1.|dotmod)", text)) == turned
        )


def test_the_legend_of_the_next_token_fits_a_phone():
    names = ("chosen belief", "exact belief", "model")
    drawing = charts.next_day_chart(dict.fromkeys(names, np.full(2, 0.5)), symbols=("A", "B"))
    form = json.loads(drawing.spec)
    assert form["encoding"]["color"]["legend"]["columns"] == {"expr": legend_columns(names).expr}
    assert _columns_at(200, names) < 3


def test_an_opacity_for_each_series_has_an_order_without_which_browsers_are_warned():
    layers = layers_of(EXAMPLES["opacities"]().specification())
    opacities = [encoding.get("opacity", {}) for _, encoding in layers]
    found = [each for each in opacities if "field" in each]
    assert found
    assert all(each["sort"] for each in found)


def test_the_legend_of_stacked_areas_has_whole_names():
    names = ("uniform", "optimal (known tables)")
    table = charts.stacked_table(names, (0, 1), np.array([[0.5, 0.5], [1.0, 0.0]]))
    series = tuple(Series(name) for name in names)
    drawing = charts.stacked_chart(table, None, series=series, title="weight", noun="reference")
    (area,) = json.loads(drawing.spec)["layer"]
    # The letters of a browser are wider than here, where the default of 160 is enough.
    assert area["encoding"]["color"]["legend"]["labelLimit"] == 330


def test_without_a_change_of_the_nearest_reference_no_rules_are_drawn():
    assert _rules([]) is None
    table = charts.stacked_table(("a", "b"), (0, 1), np.array([[0.5, 0.5], [1.0, 0.0]]))
    series = (Series("a"), Series("b"))
    drawing = charts.stacked_chart(table, None, series=series, title="weight", noun="reference")
    assert list(drawing.tables) == ["table"]
    assert sum(drawn(drawing).values()) > 0


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        rendered(name).save(FOLDER / f"{name}.png", optimize=True)
