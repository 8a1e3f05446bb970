"""Every chart: the marks it is made of, the columns they show, and that they are drawn."""

import collections
import json
import re

import numpy as np
import pandas as pd
import pytest
import vl_convert

from attnlab import charts
from attnlab.charts import as_picture
from attnlab.charts.core.colours import share_ramp
from attnlab.generators import Outline, RuleTable
from attnlab.generators.vocabulary import WEATHER
from attnlab.lessons.saturation import Histogram
from attnlab.lessons.sweep import Track
from attnlab.runs.history import empty_history
from attnlab.training.evaluation import Evaluation

SIZE = {"dark": False, "height": 200}
TRIANGLE = np.tril(np.ones((3, 3), dtype=bool))
HALVES = TRIANGLE / TRIANGLE.sum(axis=1, keepdims=True)
SYMBOLS = WEATHER.symbols
MOVING = ((0.5, 0.3, 0.2), (0.1, 0.8, 0.1), (0.2, 0.2, 0.6))
# Two gains, two seeds, three looks.
FIGURES = np.linspace(0.6, 0.1, 12).reshape(2, 2, 3)
TRACKS = [
    Track(4, scale, np.array([0, 10, 20]), FIGURES, FIGURES, FIGURES)
    for scale in ("1/sqrt(d)", "none")
]


def by_day_chart():
    table = charts.by_day_table(
        np.array([2, 3]), np.array([1.0, 0.5]), np.array([0.1, 0.2]), np.array([0.9, 0.25])
    )
    return charts.by_day_chart(table, **SIZE)


def by_lag_chart():
    table = charts.by_lag_table(np.array([0.1, 0.3, 0.0]), np.array([0.01, 0.02, 0.0]))
    return charts.by_lag_chart(table, **SIZE)


def cost_chart():
    rows = [("plain", 64, 2.0, 1.0, 3.0), ("plain", 128, 8.0, 7.0, 9.0), ("chunked", 64, 3, 3, 3)]
    return charts.cost_chart(
        charts.cost_table(rows),
        series=("plain", "chunked"),
        lengths=(64, 128),
        y_title="time (ms)",
        today=90,
        **SIZE,
    )


def calibration_chart():
    bins = np.array([0.2, 0.5, 0.8])
    table = charts.calibration_table(bins, bins, bins / 10, np.array([5, 6, 7]))
    return charts.calibration_chart(table, **SIZE)


def component_chart():
    table = charts.component_table(np.arange(8.0).reshape(4, 2))
    return charts.component_chart(table, domain=(0, 8), **SIZE)


def confusion_chart():
    table = charts.confusion_table(np.arange(9).reshape(3, 3), WEATHER)
    return charts.confusion_chart(table, symbols=SYMBOLS, **SIZE)


def curve_chart():
    values = np.array([1.0, 0.9, 0.8, 0.7])
    table = charts.curve_table(np.arange(1, 5), values, values / 10)
    return charts.curve_chart(
        table, x_title="day", y_title="nats", domain=(0, 2), reference=("chance", 1.1),
        named_above=True, **SIZE,
    )  # fmt: skip


def dependence_chart():
    table = charts.dependence_table(HALVES, HALVES / 10)
    return charts.dependence_chart(table, length=3, title="nats", most=1.0, **SIZE)


def difference_chart():
    table = charts.difference_table(HALVES, HALVES.T, 1)
    return charts.difference_chart(table, length=3, most=0.3, **SIZE)


def distribution_chart():
    one = Histogram(np.array([-1.0, 0.0, 1.0]), np.array([0.2, 0.5, 0.3]), np.full(3, 0.3))
    table = charts.distribution_table({charts.SCALED: one, charts.UNSCALED: one})
    return charts.distribution_chart(table, **SIZE)


def encoding_lines_chart():
    table = charts.series_table("rotary", [1, 2, 3], np.arange(3.0), np.zeros(3))
    return charts.encoding_lines_chart(
        table, x_title="apart", y_title="score", names=("rotary",), boundary=(2, "trained"), **SIZE
    )


def final_query_chart():
    rows = {"attends": np.array([0.2, 0.5, 0.3]), "truth": np.array([0.1, 0.1, 0.8])}
    return charts.final_query_chart(
        charts.final_query_table(rows), rows=tuple(rows), symbols=SYMBOLS, most=1.0,
        title="share", **SIZE,
    )  # fmt: skip


def fit_chart():
    x = np.linspace(0, 1, 5)
    fit = charts.fit_table(x, x, x**2, 2)
    points = charts.points_table(x[:3], x[:3], np.array([0.2, 0.5, 0.3]))
    return charts.fit_chart(
        fit, points, x_domain=(0, 1), y_domain=(0, 1), largest=0.5, dark=False, height=200
    )


def frequency_chart():
    known, counted = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.2, 0.2])
    table = charts.frequency_table(known, counted, known / 10, SYMBOLS)
    return charts.frequency_chart(table, names=SYMBOLS, title="share", dark=False)


def gap_map_chart():
    table = charts.gap_map_table(TRACKS, (0.5, 1.0), "none")
    return charts.gap_map_chart(table, widths=(4,), gains=(0.5, 1.0), most=1.0, **SIZE)


def learning_chart():
    table = charts.learning_table(np.array([1.0, 0.8, 0.7]), {"best": 0.5, "noise": 0.1}, 2)
    return charts.learning_chart(table, last_step=2, y_domain=(0, 1), **SIZE)


def heads_chart():
    words = charts.MapWords(("head 1", "head 2"), "share of attention", "day attended to")
    rows = {"words": words, "read": 2, "trained": True, "symbols": None}
    table = charts.heads_table(np.stack([HALVES, HALVES]), TRIANGLE, heads=(0, 1), **rows)
    marks = charts.informative_table([1, 3], 2)
    return charts.heads_chart(table, marks, shape=(3, 3), **rows, **SIZE)


def leave_one_out_chart():
    width = np.array([0.1, 0.2, 0.4])
    table = {"bandwidth": width, "loss": width, "low": width / 2, "high": width * 2}
    return charts.leave_one_out_chart(
        pd.DataFrame({**table, "stderr": width}), pd.DataFrame({"bandwidth": [0.2]}), **SIZE
    )


def loss_chart():
    history = empty_history().with_losses(np.linspace(1.1, 0.9, 30).astype(np.float32))
    for step in (0, 30):
        history = history.with_test(step, Evaluation(1.2, 0.01, 0.3, 0.01))
    past = charts.PastCurve("run 1", "#888888", ((0, 1.1), (10, 1.0), (30, 0.9)))
    table = charts.loss_table(
        history, known={"floor": 0.8, "chance": 1.1}, last_step=30, latest=None, cursor=12,
        past=(past,),
    )  # fmt: skip
    return charts.loss_chart(table, last_step=30, past=(past[:2],), **SIZE)


def matrix_chart():
    values = np.array([[1.0, -np.inf, 0.5], [0.0, 2.0, 3.0]])
    return charts.matrix_chart(
        charts.matrix_table(values), shape=(2, 3), row_title="row", column_title="column",
        domain=(-3, 3), ramp=share_ramp(dark=False), dark=False,
        lit=(charts.Lit("#000000", row=1),),
    )  # fmt: skip


def next_day_chart():
    table = charts.next_day_table(np.full(3, 1 / 3), np.array([0.2, 0.3, 0.5]), WEATHER)
    return charts.next_day_chart(table, symbols=SYMBOLS, **SIZE)


def overview_chart():
    heads = [charts.HeadPicture(name, HALVES, TRIANGLE, "0.1") for name in ("L1 H1", "L1 H2")]
    return charts.overview_chart(
        charts.overview_table([heads], dark=False), lines=1, columns=2, texts=True,
        cell="share of attention", **SIZE,
    )  # fmt: skip


def path_chart():
    table = charts.path_table(np.cos(np.arange(5.0)), np.sin(np.arange(5.0)))
    return charts.path_chart(table, x_title="1", y_title="2", **SIZE)


def pattern_chart():
    table = charts.pattern_table(HALVES, TRIANGLE, SYMBOLS)
    return charts.pattern_chart(table, length=3, symbols=SYMBOLS, **SIZE)


def plane_chart():
    x = np.array([[0.1, 0.2], [0.5, 0.6], [0.9, 0.1]])
    table = charts.plane_table(x, np.array([-1.0, 0.0, 1.0]), np.array([0.2, 0.3, 0.5]), 1)
    return charts.plane_chart(table, **SIZE)


def profile_chart():
    mean = np.array([1.0, 0.5, 0.2, 0.1])
    table = charts.profile_table(np.arange(4), mean, mean - 0.1, mean + 0.1)
    return charts.profile_chart(table, title="similarity", **SIZE)


def reached_chart():
    table = charts.reached_table(TRACKS, 0.5, 0, 20)
    return charts.reached_chart(table, widths=(4,), last_step=20, **SIZE)


def rule_chart():
    rule = RuleTable("next", Outline("yesterday", SYMBOLS, "today", SYMBOLS), MOVING)
    return charts.rule_chart(charts.rule_table(rule), rule=rule, dark=False)


def series_chart():
    values = np.array([1.0, 2.0, 4.0])
    table = charts.series_table(charts.SCALED, (2, 4, 8), values, values / 10)
    known = charts.level_table({"law": values}, (2, 4, 8))
    return charts.series_chart(
        table, known, x_title="d", y_title="variance", y_domain=None, ticks=(2, 4, 8), **SIZE
    )


def softmax_chart():
    weights = np.array([0.2, 0.3, 0.5])
    return charts.softmax_chart(charts.softmax_table(weights, weights, weights), keys=3, **SIZE)


def state_chart():
    table = charts.state_table(np.arange(6.0).reshape(3, 2))
    return charts.state_chart(table, length=3, symbols=SYMBOLS, **SIZE)


def training_chart():
    table = charts.training_table(TRACKS, "gap", 0)
    return charts.training_chart(
        table, y_title="gap", last_step=20, widths=(4,), logarithmic=False, **SIZE
    )


def time_scale_chart():
    table = charts.time_scale_table(np.array([2.0, 30.0, 0.5]))
    return charts.time_scale_chart(table, length=10, **SIZE)


def weight_chart():
    table = charts.weight_table(np.arange(18.0).reshape(2, 3, 3), WEATHER)
    return charts.weight_chart(table, length=2, vocabulary=WEATHER, **SIZE)


PLACES = (
    "x", "x2", "y", "y2", "xOffset", "color", "size", "shape", "text", "detail", "strokeDash",
    "opacity", "url",
)  # fmt: skip


def layers_of(spec, above=None):
    """The single layers of a specification, each with the encodings of those around it."""
    encoding = {**(above or {}), **spec.get("encoding", {})}
    if "layer" not in spec:
        yield spec["mark"], encoding
    for layer in spec.get("layer", ()):
        yield from layers_of(layer, encoding)


def marks_of(drawing):
    """Marks and their columns in words, such as `point x=day y=loss`."""
    for mark, encoding in layers_of(drawing.specification()):
        fields = [(place, encoding.get(place, {}).get("field")) for place in PLACES]
        yield " ".join([mark["type"], *(f"{place}={field}" for place, field in fields if field)])


def drawn(drawing):
    """How many items of each kind come from rows, with a place that is a number."""
    picture = as_picture(drawing, title="title", subtitles=["words"], width=300)
    found = collections.Counter()

    def walk(node):
        if node.get("role") == "mark":
            found[node["marktype"]] += len(node["items"])
            numbers = [item.get(axis, 0) for item in node["items"] for axis in "xy"]
            assert all(isinstance(number, int | float) for number in numbers)
        for item in node.get("items", ()):
            walk(item)

    walk(vl_convert.vegalite_to_scenegraph(picture)["scenegraph"])
    return dict(found)


# By hand: a mark is a line of these with the columns it shows. `symbol` is a point and `rect` a bar
# or a tick once drawn; a `path` is the ground around a point in which the pointer finds it.
EXPECTED = {
    "by_day_chart": (
        [
            "line x=day y=floor",
            "point x=day y=floor",
            "rule x=day y=low y2=high",
            "point x=day y=loss",
        ],
        {"line": 2, "symbol": 4, "rule": 2},
    ),
    "by_lag_chart": (
        [
            "line x=lag y=influence",
            "rule x=lag y=low y2=high",
            "point x=lag y=influence",
        ],
        {"line": 3, "symbol": 3, "rule": 3},
    ),
    "cost_chart": (
        [
            "rule x=length",
            "line x=length y=value color=series",
            "rule x=length y=low y2=high color=series",
            "point x=length y=value color=series shape=series",
        ],
        {"line": 3, "symbol": 3, "rule": 4},
    ),
    "calibration_chart": (
        [
            "line x=predicted y=observed",
            "rule x=predicted y=low y2=high",
            "point x=predicted y=observed",
        ],
        {"line": 2, "rule": 3, "symbol": 3},
    ),
    "component_chart": (
        [
            "line x=day y=value color=component detail=component",
            "text x=day y=value text=name",
        ],
        {"line": 8, "text": 8},
    ),
    "confusion_chart": (
        [
            "rect x=predicted y=observed color=share",
            "text x=predicted y=observed text=count",
        ],
        {"rect": 9, "text": 9},
    ),
    "curve_chart": (
        [
            "rule y=level",
            "text y=level text=name",
            "area x=at y=low y2=high",
            "line x=at y=value",
            "point x=at y=value",
        ],
        {"rule": 1, "text": 1, "area": 4, "line": 4, "symbol": 4},
    ),
    "dependence_chart": (
        [
            "rect x=key y=query color=value",
        ],
        {"rect": 6},
    ),
    "difference_chart": (
        [
            "rect x=key y=query color=difference",
        ],
        {"rect": 6},
    ),
    "distribution_chart": (
        [
            "area x=at y=density color=series",
            "line x=at y=density color=series strokeDash=series",
            "line x=at y=normal detail=series",
        ],
        {"area": 6, "line": 12},
    ),
    "encoding_lines_chart": (
        [
            "line x=at y=value color=series strokeDash=series",
            "rule x=at",
            "text x=at text=name",
        ],
        {"line": 3, "rule": 1, "text": 1},
    ),
    "final_query_chart": (
        [
            "rect x=day y=row color=value",
            "rect x=day y=row color=value",
            "text x=day y=row text=value",
        ],
        {"rect": 6, "text": 6},
    ),
    "fit_chart": (
        [
            "line x=x y=truth",
            "point x=x y=y",
            "line x=x y=fit",
            "rule x=x",
            "point x=x y=fit",
            "point x=x y=fit",
            "rule x=x y=none y2=weight",
        ],
        {"line": 10, "symbol": 9, "rule": 4, "path": 5},
    ),
    "frequency_chart": (
        [
            "bar x=known y=row color=series",
            "rule x=low x2=high y=row color=series",
            "point x=counted y=row color=series",
        ],
        {"rect": 3, "rule": 3, "symbol": 3},
    ),
    "gap_map_chart": (
        [
            "rect x=d_attn y=gain color=gap",
            "text x=d_attn y=gain text=gap",
        ],
        {"rect": 2, "text": 2},
    ),
    "learning_chart": (
        [
            "line x=step y=loss detail=label",
            "text x=step y=loss text=label",
            "line x=step y=loss",
        ],
        {"line": 7, "text": 2},
    ),
    # Places are calculated. Beside the cells two frames and the colours of the legend; of texts the
    # numbers, the names, the days of keys and queries, five of axes and legend, and the marks.
    "heads_chart": (
        [
            "rect color=share opacity=strength",
            "rect",
            "text text=number",
            *["text text=name"] * 7,
            "rect color=share",
            "text text=name",
            "text",
        ],
        {"rect": 12 + 2 + 21, "text": 12 + 2 + 6 + 6 + 5 + 4},
    ),
    "leave_one_out_chart": (
        [
            "area x=bandwidth y=low y2=high",
            "line x=bandwidth y=loss",
            "rule x=bandwidth",
        ],
        {"area": 3, "line": 3, "rule": 1},
    ),
    "loss_chart": (
        [
            "line x=step y=nats color=series detail=label strokeDash=series",
            "text x=step y=nats text=label",
            "text x=step y=nats text=label",
            "rule x=step",
            "text x=step",
            "rule x=step",
            "rule x=step",
        ],
        {"line": 39, "text": 2, "rule": 3, "path": 2},
    ),
    "matrix_chart": (
        [
            "rect x=column y=row color=value",
            "text x=column y=row text=text",
            "rect x=column y=row",
        ],
        {"rect": 8, "text": 6},
    ),
    "next_day_chart": (
        [
            "bar x=token y=probability xOffset=distribution color=distribution",
        ],
        {"rect": 6},
    ),
    "overview_chart": (
        [
            "image url=picture",
            "text text=head",
            "text text=text",
            "text text=name",
            "rect color=share",
            "text text=name",
        ],
        {"image": 2, "text": 6, "rect": 21},
    ),
    "path_chart": (
        [
            "line x=x y=y",
            "point x=x y=y color=day",
            "text x=x y=y text=name",
        ],
        {"line": 5, "symbol": 5, "text": 5},
    ),
    "pattern_chart": (
        [
            "rect x=key y=query color=share",
        ],
        {"rect": 6},
    ),
    "plane_chart": (
        [
            "point x=first y=second color=y size=relative shape=sign",
            "point x=first y=second",
        ],
        {"symbol": 4, "path": 3},
    ),
    "profile_chart": (
        [
            "area x=apart y=least y2=most",
            "line x=apart y=mean",
        ],
        {"area": 4, "line": 4},
    ),
    "reached_chart": (
        [
            "point x=d_attn y=step xOffset=series color=series shape=reached",
        ],
        {"symbol": 4},
    ),
    "rule_chart": (
        [
            "rect x=column y=row color=probability",
            "text x=column y=row text=probability",
        ],
        {"rect": 9, "text": 9},
    ),
    "series_chart": (
        [
            "line x=at y=level detail=name",
            "text x=at y=level text=name detail=name",
            "line x=at y=value color=series",
            "rule x=at y=low y2=high color=series",
            "point x=at y=value color=series shape=series",
        ],
        {"line": 6, "text": 1, "rule": 3, "symbol": 3},
    ),
    "softmax_chart": (
        [
            "bar x=key y=weight",
            "tick x=key y=at_one",
            "text x=key y=weight text=weight",
        ],
        {"rect": 6, "text": 3},
    ),
    "state_chart": (
        [
            "rect x=day y=component color=state",
        ],
        {"rect": 6},
    ),
    "training_chart": (
        [
            "line x=step y=value color=series strokeDash=series opacity=d_attn",
        ],
        {"line": 6, "symbol": 6},
    ),
    "time_scale_chart": (["point x=place y=days", "rule y=days"], {"symbol": 3, "rule": 1}),
    "weight_chart": (
        [
            "rect x=day y=row color=weight",
        ],
        {"rect": 18},
    ),
}


def test_every_chart_is_tested():
    assert {name for name in charts.__all__ if name.endswith("_chart")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_its_marks_show_their_columns_and_every_row_is_drawn(name):
    drawing = globals()[name]()
    marks, items = EXPECTED[name]
    assert list(marks_of(drawing)) == marks
    assert drawn(drawing) == items
    columns = {column for table in drawing.tables.values() for column in table.columns}
    own = {column for rows in own_rows(drawing) for row in rows for column in row}
    shown = {word.split("=")[1] for mark in marks for word in mark.split()[1:]}
    # The series of a frequency is calculated where it is drawn.
    assert shown - {"series"} <= columns | own
    assert all(len(table) for table in drawing.tables.values())


@pytest.mark.parametrize("name", EXPECTED)
def test_words_have_a_colour_of_their_own(name):
    # Without one they are black, also on dark ground.
    for mark, encoding in layers_of(globals()[name]().specification()):
        assert mark["type"] != "text" or "color" in mark | encoding


# The letters in the cells of a matrix are as large as their cells.
@pytest.mark.parametrize("name", sorted(EXPECTED.keys() - {"matrix_chart"}))
def test_large_type_enlarges_all_letters_and_nothing_else(name):
    drawing = globals()[name]()
    large = charts.with_large_type(drawing.specification())
    assert large["datasets"] == drawing.specification()["datasets"]
    assert min(letter_sizes(large), default=99) > 14


def letter_sizes(specification):
    """Pixels of the letters of a chart, as they are drawn."""
    rows = {name: pd.DataFrame(table) for name, table in specification["datasets"].items()}
    records = {name: json.loads(table.to_json(orient="records")) for name, table in rows.items()}
    svg = vl_convert.vegalite_to_svg(specification | {"datasets": records})
    return [float(size) for size in re.findall(r'font-size="([\d.]+)px"', svg)]


def own_rows(drawing):
    """Rows that belong to the form of the chart."""
    tables = drawing.specification()["datasets"]
    return [rows for name, rows in tables.items() if name not in drawing.tables]
