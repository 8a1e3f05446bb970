"""Heads beside each other and at a glance: cells and pictures that fit, and their marks."""

import base64
import dataclasses
import io
import re

import numpy as np
import pytest
from PIL import Image

from attnlab.charts import HeadPicture, heads_chart, overview_chart, style
from attnlab.generators import Reverse
from attnlab.models import AttentionMap, Trace
from attnlab.runs.history import empty_history
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import Experiment
from attnlab.training.steps import Training
from attnlab.ui.train.inside.panel import VIEWS, views_of
from attnlab.ui.train.inside.shown import ALL_HEADS, MEAN, Choice, Influence, Inside, Shown
from tests.unit.chart_drawing import as_svg, scene
from tests.unit.small_experiments import SMALL

# What a chart has at 1280 × 720, at 1024 × 768 and on a phone.
_WIDTHS = (984, 728, 350)


def _patterns(heads, days):
    mask = np.tril(np.ones((days, days), dtype=bool))
    return np.repeat((mask / mask.sum(axis=1, keepdims=True))[None], heads, axis=0), mask


def _maps(patterns, mask):
    return [HeadPicture(f"head {n}", pattern, mask) for n, pattern in enumerate(patterns, 1)]


LOOK = {"cell": "share of attention", "key": "day attended to"}


def _drawing(heads):
    maps = _maps(*_patterns(heads, 10))
    return heads_chart(maps, trained=False, read=9, informative=(1, 4), height=330, **LOOK)


def _scene(width, heads):
    """The cells and the frames that are drawn, in pixels."""
    return [items for kind, items in scene(_drawing(heads), width) if kind == "rect"]


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


# On a phone the legend has a line of its own.
@pytest.mark.parametrize(
    ("width", "heads", "least"), [(984, 3, 24), (984, 1, 24), (728, 2, 24), (350, 1, 22)]
)
def test_the_cells_of_ten_days_have_at_least_so_many_pixels(width, heads, least):
    cells, _ = _scene(width, heads)
    # A pixel between two of them.
    assert cells[0]["width"] + 1 >= least


_TEXT = re.compile(
    r'text-anchor="(\w+)" transform="translate\(([-\d.]+),([-\d.]+)\)"[^>]*'
    r'font-size="([\d.]+)px"[^>]*(?<!opacity="0")>([^<]+)<'
)


@pytest.mark.parametrize("width", _WIDTHS)
def test_names_in_large_type_touch_no_other_text(width):
    """A letter is about half as wide as it is high."""
    specification = _drawing(3).specification(large=True) | {"width": width}
    # Without the text of the legend, which has its own origin.
    groups = as_svg(specification).split('class="mark-text ')
    marks, boxes = "".join(group for group in groups if group.startswith("role-mark")), {}
    for anchor, x, y, size, text in _TEXT.findall(marks):
        wide = 0.55 * float(size) * len(text)
        left = float(x) - {"start": 0, "middle": 0.5, "end": 1}[anchor] * wide
        boxes[text, x, y] = left, float(y) - 0.75 * float(size), left + wide, float(y)
    names = [key for key in boxes if key[0].startswith(("head", "query", "key"))]
    assert len(names) == 5
    for name in names:
        left, top, right, bottom = boxes[name]
        for other in boxes.keys() - {name}:
            x, y, x2, y2 = boxes[other]
            assert x2 < left or right < x or y2 + 2 < top or bottom + 2 < y, (name, other)


def test_heads_go_below_each_other_where_they_would_be_too_small():
    (_, wide), (_, narrow) = _scene(984, 4), _scene(350, 4)
    assert len({frame["y"] for frame in wide}) == 1
    assert len({frame["y"] for frame in narrow}) > 1


def test_rows_without_part_in_the_loss_are_paler_and_the_shares_of_the_other_are_written():
    def table(heads, trained):
        maps = _maps(*_patterns(heads, 4))
        return heads_chart(maps, trained=trained, read=3, **LOOK).tables["table"]

    one = table(1, trained=False)
    last = one["query_day"] == "4"
    assert (one.loc[last, "strength"] == 1).all()
    assert (one.loc[~last, "strength"] < 0.5).all()
    assert list(one.loc[last, "number"]) == ["25"] * 4
    assert set(one.loc[~last, "number"]) == {""}
    assert (table(1, trained=True)["strength"] == 1).all()
    # Of several layers only the last has such rows.
    two = table(2, trained=(True, False))
    assert (two["strength"][two["place"] == 0] == 1).all()
    assert (two["strength"][two["place"] == 1] < 1).any()


CAUSAL = np.tri(3, dtype=bool)
SHARES = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.25, 0.75]])


def _overview(lines, columns, *, texts=True, height=330):
    heads = [
        [HeadPicture(f"L{line} H{column}", SHARES, CAUSAL, "0.1") for column in range(columns)]
        for line in range(lines)
    ]
    return overview_chart(heads, texts=texts, cell="share", height=height)


def _items(drawing, width, kind):
    return [item for found, items in scene(drawing, width) if found == kind for item in items]


@pytest.mark.parametrize("dark", [False, True])
def test_a_pixel_is_a_cell_in_the_colour_of_its_share(dark):
    drawing = overview_chart([[HeadPicture("L1 H1", SHARES, CAUSAL)]], cell="share", dark=dark)
    address = drawing.tables["table"]["picture"][0].removeprefix("data:image/png;base64,")
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(address))).convert("RGBA"))
    assert pixels.shape == (3, 3, 4)
    np.testing.assert_array_equal(pixels[..., 3] > 0, CAUSAL)
    ramp = [style.on_dark(colour) if dark else colour for colour in style.SHARES]
    ramp = {
        share: [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
        for share, colour in zip((0.0, 0.5, 1.0), ramp, strict=True)
    }
    for row, column in zip(*np.nonzero(CAUSAL), strict=True):
        share = SHARES[row, column]
        low = np.floor(2 * share) / 2
        high = min(low + 0.5, 1.0)
        between = np.interp(share, [low, low + 0.5], [0, 1])
        expected = (1 - between) * np.array(ramp[low]) + between * np.array(ramp[high])
        # The nearest of 255 colours.
        assert np.abs(pixels[row, column, :3] - expected).max() <= 1.5


@pytest.mark.parametrize("width", _WIDTHS)
@pytest.mark.parametrize(("lines", "columns"), [(1, 1), (2, 4), (3, 8), (8, 8), (8, 16)])
def test_pictures_are_square_apart_and_within_their_place(width, lines, columns):
    pictures = _items(_overview(lines, columns), width, "image")
    assert len(pictures) == lines * columns
    boxes = [(each["x"], each["y"], each["width"], each["height"]) for each in pictures]
    for x, y, across, down in boxes:
        assert across == pytest.approx(down)
        assert 0 <= x <= x + across <= width + 0.5
        assert 0 <= y <= y + down <= 330
    for number, (x, y, across, down) in enumerate(boxes):
        for other_x, other_y, *_ in boxes[number + 1 :]:
            assert other_x >= x + across or other_x + across <= x or abs(other_y - y) >= down


def _shown(view, heads, *, layers, length, chosen=None):
    experiment = dataclasses.replace(SMALL, length=length)
    mask = np.tri(length, dtype=bool)
    pattern = np.repeat((mask / mask.sum(axis=1, keepdims=True))[None], heads, axis=0)
    trace = Trace(tuple(AttentionMap(pattern, mask, layer=layer) for layer in range(layers)))
    chosen = tuple(range(heads)) if chosen is None else chosen
    snapshot = Snapshot(experiment, "idle", 0, empty_history(), None, None, 0, 0.0, 0.0, "")
    return Shown(snapshot, Inside(trace), Choice(MEAN, 0, chosen, view))


def _marks(shown):
    form = VIEWS[shown.choice.view].chart(shown, 330).specification()
    return {layer["mark"]["type"] for layer in form["layer"]}


@pytest.mark.parametrize(
    ("shown", "are_pictures"),
    [
        (_shown("attention", 3, layers=1, length=10), False),
        (_shown("attention", 8, layers=1, length=24), False),
        (_shown("attention", 8, layers=1, length=25), True),
        (_shown("attention", 8, layers=8, length=64, chosen=(3,)), False),
        (_shown(ALL_HEADS, 4, layers=2, length=10), False),
        (_shown(ALL_HEADS, 8, layers=8, length=64), True),
    ],
)
def test_too_many_cells_become_pictures_and_a_single_head_never(shown, are_pictures):
    assert ("image" in _marks(shown)) == are_pictures
    how = VIEWS[shown.choice.view].how(shown)
    assert ("Each pixel is one cell" in how) == are_pictures


def test_of_a_task_the_framed_row_is_that_of_the_last_target_token():
    training = Training(readout="first", loss="next", data="fresh", test_size=100)
    shown = _shown("attention", 1, layers=1, length=7)
    assert "framed row makes the prediction" in VIEWS["attention"].how(shown)
    experiment = Experiment(generator=Reverse(source_length=4), training=training)
    snapshot = dataclasses.replace(shown.snapshot, experiment=experiment)
    shown = shown._replace(snapshot=snapshot)
    how = VIEWS["attention"].how(shown)
    assert "framed row predicts the last target token; each row from token 4 on predicts one" in how
    table = VIEWS["attention"].chart(shown, 330).tables["table"]
    assert set(table["query_day"][table["number"] != ""]) == {"7"}


def test_all_heads_are_a_view_where_there_are_several_layers():
    assert views_of(_shown("attention", 3, layers=1, length=4).inside) == ("attention",)
    shown = _shown(ALL_HEADS, 3, layers=2, length=4)
    assert views_of(shown.inside) == ("attention", ALL_HEADS)
    table = VIEWS[ALL_HEADS].chart(shown, 330).tables["table"]
    assert list(dict.fromkeys(table["map"])) == [
        "L1 H1", "L1 H2", "L1 H3", "L2 H1", "L2 H2", "L2 H3",
    ]  # fmt: skip
    said = VIEWS[ALL_HEADS].alternative(shown)
    assert said == "Attention patterns of all 6 heads of 2 layers, 4 days."


def test_the_query_itself_has_lag_0_and_the_first_day_the_longest():
    shown = _shown("by lag", 1, layers=1, length=3)
    row, stderr = np.array([[0.1, 0.2, 0.4]]), np.array([[0.01, 0.02, 0.03]])
    shown = shown._replace(inside=Inside(shown.trace, Influence(row, stderr, 1)))
    table = VIEWS["by lag"].chart(shown, 330).tables["table"]
    assert list(table["at"]) == [0, 1, 2]
    assert list(table["day"]) == [3, 2, 1]
    np.testing.assert_allclose(table["value"], [0.4, 0.2, 0.1])
    np.testing.assert_allclose(table["high"] - table["low"], [0.06, 0.04, 0.02])
