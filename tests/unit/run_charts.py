"""Charts of runs: drawn from little, with what they are made of."""

import numpy as np

from attnlab import charts
from attnlab.generators.vocabulary import WEATHER
from attnlab.runs.history import empty_history
from attnlab.training.evaluation import Evaluation
from tests.unit.chart_drawing import SIZE, SYMBOLS

TRIANGLE = np.tril(np.ones((3, 3), dtype=bool))
HALVES = TRIANGLE / TRIANGLE.sum(axis=1, keepdims=True)


def alignment_chart():
    rows = {"names": ("head 1", "truth"), "source": SYMBOLS, "target": SYMBOLS[::-1]}
    table = charts.alignment_table(HALVES[None], np.eye(3), **rows)
    return charts.alignment_chart(table, count=3, cell="share", **rows, **SIZE)


def by_day_chart():
    table = charts.by_day_table(
        np.array([2, 3]), np.array([1.0, 0.5]), np.array([0.1, 0.2]), np.array([0.9, 0.25])
    )
    return charts.by_day_chart(table, **SIZE)


def by_lag_chart():
    table = charts.by_lag_table(np.array([0.1, 0.3, 0.0]), np.array([0.01, 0.02, 0.0]))
    return charts.by_lag_chart(table, **SIZE)


def calibration_chart():
    bins = np.array([0.2, 0.5, 0.8])
    table = charts.calibration_table(bins, bins, bins / 10, np.array([5, 6, 7]))
    return charts.calibration_chart(table, **SIZE)


def confusion_chart():
    table = charts.confusion_table(np.arange(9).reshape(3, 3), WEATHER)
    return charts.confusion_chart(table, symbols=SYMBOLS, **SIZE)


def dependence_chart():
    table = charts.dependence_table(HALVES, HALVES / 10)
    return charts.dependence_chart(table, length=3, title="nats", most=1.0, **SIZE)


def difference_chart():
    table = charts.difference_table(HALVES, HALVES.T, 1)
    return charts.difference_chart(table, length=3, most=0.3, **SIZE)


def final_query_chart():
    rows = {"attends": np.array([0.2, 0.5, 0.3]), "truth": np.array([0.1, 0.1, 0.8])}
    return charts.final_query_chart(
        charts.final_query_table(rows), rows=tuple(rows), symbols=SYMBOLS, most=1.0,
        title="share", **SIZE,
    )  # fmt: skip


def heads_chart():
    words = charts.MapWords(("head 1", "head 2"), "share of attention", "day attended to")
    rows = {"words": words, "read": 2, "trained": True, "symbols": None}
    table = charts.heads_table(np.stack([HALVES, HALVES]), TRIANGLE, heads=(0, 1), **rows)
    marks = charts.informative_table([1, 3], 2)
    return charts.heads_chart(table, marks, shape=(3, 3), **rows, **SIZE)


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


def next_day_chart():
    table = charts.next_day_table(np.full(3, 1 / 3), np.array([0.2, 0.3, 0.5]), WEATHER)
    return charts.next_day_chart(table, symbols=SYMBOLS, **SIZE)


def overview_chart():
    heads = [charts.HeadPicture(name, HALVES, TRIANGLE, "0.1") for name in ("L1 H1", "L1 H2")]
    return charts.overview_chart(
        charts.overview_table([heads], dark=False), lines=1, columns=2, texts=True,
        cell="share of attention", **SIZE,
    )  # fmt: skip


def pattern_chart():
    table = charts.pattern_table(HALVES, TRIANGLE, SYMBOLS)
    return charts.pattern_chart(table, length=3, symbols=SYMBOLS, **SIZE)


def state_chart():
    table = charts.state_table(np.arange(6.0).reshape(3, 2))
    return charts.state_chart(table, length=3, symbols=SYMBOLS, **SIZE)


def time_scale_chart():
    table = charts.time_scale_table(np.array([2.0, 30.0, 0.5]))
    return charts.time_scale_chart(table, length=10, **SIZE)


def weight_chart():
    table = charts.weight_table(np.arange(18.0).reshape(2, 3, 3), WEATHER)
    return charts.weight_chart(table, length=2, vocabulary=WEATHER, **SIZE)


# Marks as `marks_of` says them, and items as `drawn` counts them; see there.
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
    "calibration_chart": (
        [
            "line x=predicted y=observed",
            "rule x=predicted y=low y2=high",
            "point x=predicted y=observed",
        ],
        {"line": 2, "rule": 3, "symbol": 3},
    ),
    "confusion_chart": (
        [
            "rect x=predicted y=observed color=share",
            "text x=predicted y=observed text=count",
        ],
        {"rect": 9, "text": 9},
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
    "final_query_chart": (
        [
            "rect x=day y=row color=value",
            "rect x=day y=row color=value",
            "text x=day y=row text=value",
        ],
        {"rect": 6, "text": 6},
    ),
    # Places are calculated. Beside the cells of one map and of the truth the colours of the legend.
    "alignment_chart": (
        [
            "rect color=share",
            "rect color=share",
            "text text=number",
            *["text text=name"] * 7,
            "rect color=share",
            "text text=name",
        ],
        {"rect": 9 + 9 + 21, "text": 18 + 2 + 6 + 6 + 5},
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
    "pattern_chart": (
        [
            "rect x=key y=query color=share",
        ],
        {"rect": 6},
    ),
    "state_chart": (
        [
            "rect x=day y=component color=state",
        ],
        {"rect": 6},
    ),
    "time_scale_chart": (["point x=place y=days", "rule y=days"], {"symbol": 3, "rule": 1}),
    "weight_chart": (
        [
            "rect x=day y=row color=weight",
        ],
        {"rect": 18},
    ),
}
