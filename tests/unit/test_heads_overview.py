"""Many heads at a glance: what a pixel is, where pictures stand, and when there are pictures."""

import base64
import dataclasses
import io

import numpy as np
import pytest
from PIL import Image

from attnlab import charts
from attnlab.charts import HeadPicture, style
from attnlab.generators import Reverse
from attnlab.models import AttentionMap, Trace
from attnlab.runs.history import empty_history
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import Experiment
from attnlab.training.steps import Training
from attnlab.ui.train.inside.panel import VIEWS, views_of
from attnlab.ui.train.inside.shown import ALL_HEADS, MEAN, Choice, Inside, Shown
from tests.unit.chart_drawing import scene
from tests.unit.small_experiments import SMALL

CAUSAL = np.tri(3, dtype=bool)
SHARES = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.25, 0.75]])
# What a chart has at 1280 × 720, at 1024 × 768 and on a phone.
WIDTHS = (984, 728, 350)


def _overview(lines, columns, *, texts=True, height=330):
    heads = [
        [HeadPicture(f"L{line} H{column}", SHARES, CAUSAL, "0.1") for column in range(columns)]
        for line in range(lines)
    ]
    shape = {"lines": lines, "columns": columns, "texts": texts, "cell": "share"}
    table = charts.overview_table(heads, dark=False)
    return charts.overview_chart(table, **shape, height=height)


def _items(drawing, width, kind):
    return [item for found, items in scene(drawing, width) if found == kind for item in items]


@pytest.mark.parametrize("dark", [False, True])
def test_a_pixel_is_a_cell_in_the_colour_of_its_share(dark):
    table = charts.overview_table([[HeadPicture("L1 H1", SHARES, CAUSAL)]], dark=dark)
    address = table["picture"][0].removeprefix("data:image/png;base64,")
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


@pytest.mark.parametrize("width", WIDTHS)
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


def test_names_that_have_no_room_are_not_shown():
    def names(columns):
        texts = _items(_overview(1, columns, texts=False), 350, "text")
        return [text for text in texts if text.get("opacity", 1) and text["text"].startswith("L")]

    assert len(names(4)) == 4
    assert not names(16)


def _shown(view, heads, *, layers, length, chosen=None):
    experiment = dataclasses.replace(SMALL, length=length)
    mask = np.tri(length, dtype=bool)
    pattern = np.repeat((mask / mask.sum(axis=1, keepdims=True))[None], heads, axis=0)
    trace = Trace(tuple(AttentionMap(pattern, mask, layer=layer) for layer in range(layers)))
    chosen = tuple(range(heads)) if chosen is None else chosen
    snapshot = Snapshot(experiment, "idle", 0, empty_history(), None, None, 0, 0.0, 0.0, "")
    return Shown(snapshot, Inside(trace), Choice(MEAN, 0, chosen, view))


def _marks(shown):
    form = VIEWS[shown.choice.view].drawing(shown, height=330).specification()
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
    assert ("One pixel per cell" in how) == are_pictures


def test_of_a_task_the_framed_row_is_that_of_the_last_target_token():
    training = Training(readout="first", loss="next", data="fresh", test_size=100)
    shown = _shown("attention", 1, layers=1, length=7)
    assert "framed row makes the prediction" in VIEWS["attention"].how(shown)
    experiment = Experiment(generator=Reverse(source_length=4), training=training)
    snapshot = dataclasses.replace(shown.snapshot, experiment=experiment)
    shown = shown._replace(snapshot=snapshot)
    how = VIEWS["attention"].how(shown)
    assert "framed row predicts the last target token; each row from token 4 on predicts one" in how
    table = VIEWS["attention"].drawing(shown, height=330).tables["table"]
    assert set(table["query_day"][table["number"] != ""]) == {"7"}


def test_all_heads_are_a_view_where_there_are_several_layers():
    assert views_of(_shown("attention", 3, layers=1, length=4).inside) == ("attention",)
    shown = _shown(ALL_HEADS, 3, layers=2, length=4)
    assert views_of(shown.inside) == ("attention", ALL_HEADS)
    table = VIEWS[ALL_HEADS].drawing(shown, height=330).tables["table"]
    assert list(dict.fromkeys(table["map"])) == [
        "L1 H1", "L1 H2", "L1 H3", "L2 H1", "L2 H2", "L2 H3",
    ]  # fmt: skip
    said = VIEWS[ALL_HEADS].alternative(shown)
    assert said == "Attention patterns of all 6 heads of 2 layers, 4 days."
