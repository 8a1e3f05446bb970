"""Charts as files: what is in them, and that nothing of the process can get into them."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from attnlab.charts import (
    PastCurve,
    as_picture,
    loss_chart,
    loss_table,
    map_chart,
    map_table,
    to_svg,
    weight_chart,
    weight_table,
)
from attnlab.generators.vocabulary import WEATHER, Vocabulary
from attnlab.optimum import Best
from attnlab.runs.history import empty_history
from attnlab.training.evaluation import Evaluation

LENGTH = 4
TRIANGLE = np.tril(np.ones((LENGTH, LENGTH), dtype=bool))


def loss():
    history = empty_history().with_losses(np.linspace(1.1, 0.9, 30).astype(np.float32))
    history = history.with_test(0, Evaluation(1.2, 0.01, 0.3, 0.01))
    table = loss_table(history, known={"floor": 0.8}, last_step=30, latest=None, cursor=None)
    return loss_chart(table, last_step=30)


def test_no_layer_waits_for_the_floor():
    """A layer without rows has no extent, of which browsers are warned."""
    layers = json.loads(loss().form)["layer"]
    assert not any("floor" in json.dumps(each.get("transform", [])) for each in layers)


def test_an_estimated_loss_is_labelled_with_its_error():
    known = {
        "floor (estimated)": Best(0.9913, 0.54, 0.0005, 0.0006),
        "uniform": Best(1.0986, 1 / 3),
    }
    table = loss_table(empty_history(), known=known, last_step=30, latest=None, cursor=None)
    labels = set(table.label.dropna())
    assert labels == {"floor (estimated) 0.991 ± 0.001", "uniform 1.099"}


def pattern():
    symbols = tuple(WEATHER.symbols[token] for token in (0, 1, 2, 0))
    share = TRIANGLE / TRIANGLE.sum(axis=1, keepdims=True)
    table = map_table(share, seen=TRIANGLE, symbols=symbols)
    titles = ("key: day attended to →", "← query: day that attends")
    return map_chart(table, length=LENGTH, title="share", titles=titles, symbols=symbols)


def weights():
    table = weight_table(np.random.default_rng(0).normal(size=(LENGTH, 3, 3)), WEATHER)
    return weight_chart(table, length=LENGTH, vocabulary=WEATHER)


CHARTS = {"loss": loss, "pattern": pattern, "weights": weights}


def picture_of(name):
    return as_picture(CHARTS[name](), title="A title", subtitles=["seed 5"], width=300)


def texts_of(svg):
    return {"".join(node.itertext()) for node in ElementTree.fromstring(svg).iter() if
            node.tag.endswith("}text")}  # fmt: skip


EXPECTED = {
    "loss": {"A title", "seed 5", "loss (nats)", "step", "floor 0.800"},
    "pattern": {"A title", "seed 5", "← query: day that attends", "3  ☀️"},
    "weights": {"A title", "seed 5", "🌧️ → ☀️", "weight (nats)"},
}


@pytest.mark.parametrize("name", CHARTS)
def test_svg_has_its_title_and_its_texts(name):
    svg = to_svg(picture_of(name))
    assert ElementTree.fromstring(svg).tag.endswith("}svg")
    assert texts_of(svg) >= EXPECTED[name]


@pytest.mark.parametrize("name", ["a:b", "www.b.c", "a[0]", 'a"b', "a\\'b", "step", "series:N"])
def test_the_name_of_a_run_means_nothing_else_to_the_loss_chart(name):
    past = [PastCurve(name, "#888888", [(0, 1.1), (10, 1.0)])]
    history = empty_history().with_losses(np.linspace(1.1, 0.9, 30).astype(np.float32))
    history = history.with_test(0, Evaluation(1.2, 0.01, 0.3, 0.01))
    table = loss_table(history, known={}, last_step=30, latest=None, cursor=None, past=past)
    chart = loss_chart(table, last_step=30, past=((name, "#888888"),))
    assert name in texts_of(to_svg(as_picture(chart, title="A", subtitles=[], width=300)))
    (place,) = (row for row in table.to_dict("records") if row["series"] == "place")
    assert "1.1000" in place.values()
    assert place["step"] == 0


@pytest.mark.parametrize("symbol", ["'", '"', "\\", "a']+[", "www.b.c"])
def test_symbols_mean_nothing_else_to_the_chart_of_weights(symbol):
    vocabulary = Vocabulary(symbols=(symbol, "b"), names=(symbol, "b"))
    table = weight_table(np.ones((LENGTH, 2, 2)), vocabulary)
    chart = weight_chart(table, length=LENGTH, vocabulary=vocabulary)
    svg = to_svg(as_picture(chart, title="A", subtitles=[], width=300))
    assert f"{symbol} → b" in texts_of(svg)
