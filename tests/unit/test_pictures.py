"""Charts as files: what is in them, and that nothing of the process can get into them."""

from xml.etree import ElementTree

import numpy as np
import pytest

from attnlab.charts import (
    Shade,
    Side,
    as_picture,
    cells_table,
    heatmap_chart,
    map_chart,
    to_svg,
)
from attnlab.generators.vocabulary import WEATHER
from attnlab.models import WEIGHTS_BY_POSITION, Trace
from attnlab.runs.history import empty_history
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.train.inside.panel import VIEWS
from attnlab.ui.train.inside.shown import Choice, Inside, Shown
from tests.unit.small_experiments import SMALL

LENGTH = 4
TRIANGLE = np.tril(np.ones((LENGTH, LENGTH), dtype=bool))


def pattern():
    symbols = tuple(WEATHER.symbols[token] for token in (0, 1, 2, 0))
    share = TRIANGLE / TRIANGLE.sum(axis=1, keepdims=True)
    titles = ("key: day attended to →", "← query: day that attends")
    return map_chart(share, seen=TRIANGLE, title="share", titles=titles, symbols=symbols)


def weights():
    values = {WEIGHTS_BY_POSITION: np.random.default_rng(0).normal(size=(LENGTH, 3, 3))}
    snapshot = Snapshot(SMALL, "idle", 0, empty_history(), None, None, 0, 0.0, 0.0, "")
    return VIEWS["weights"].chart(Shown(snapshot, Inside(Trace((), values)), Choice()), 300)


CHARTS = {"pattern": pattern, "weights": weights}


def picture_of(name):
    return as_picture(CHARTS[name](), title="A title", subtitles=["seed 5"], width=300)


def texts_of(svg):
    return {"".join(node.itertext()) for node in ElementTree.fromstring(svg).iter() if
            node.tag.endswith("}text")}  # fmt: skip


EXPECTED = {
    "pattern": {"A title", "seed 5", "← query: day that attends", "3  ☀️"},
    "weights": {"A title", "seed 5", "🌧️ → ☀️", "weight (nats)"},
}


@pytest.mark.parametrize("name", CHARTS)
def test_svg_has_its_title_and_its_texts(name):
    svg = to_svg(picture_of(name))
    assert ElementTree.fromstring(svg).tag.endswith("}svg")
    assert texts_of(svg) >= EXPECTED[name]


@pytest.mark.parametrize("symbol", ["'", '"', "\\", "a']+[", "www.b.c"])
def test_symbols_mean_nothing_else_to_a_heatmap(symbol):
    names = tuple(f"{symbol} → {each}" for each in (symbol, "b"))
    chart = heatmap_chart(
        cells_table(("row", (0, 1)), ("column", (symbol, "b")), value=np.eye(2)),
        x=Side("column", "seen", (symbol, "b")),
        y=Side("row", "pair", (0, 1), names),
        shades=(Shade("weight"),),
        tips=(("column", "seen", ""),),
    )
    assert {*names, symbol} <= texts_of(to_svg(as_picture(chart, title="A", width=300)))
