"""Charts of lessons: drawn from little, with what they are made of."""

import numpy as np
import pandas as pd

from attnlab import charts
from attnlab.charts.core.colours import share_ramp
from attnlab.lessons.saturation import Histogram
from attnlab.lessons.sweep import Track
from tests.unit.chart_drawing import SIZE

# Two gains, two seeds, three looks.
FIGURES = np.linspace(0.6, 0.1, 12).reshape(2, 2, 3)
TRACKS = [
    Track(4, scale, np.array([0, 10, 20]), FIGURES, FIGURES, FIGURES)
    for scale in ("1/sqrt(d)", "none")
]


def component_chart():
    table = charts.component_table(np.arange(8.0).reshape(4, 2))
    return charts.component_chart(table, domain=(0, 8), **SIZE)


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


def distribution_chart():
    one = Histogram(np.array([-1.0, 0.0, 1.0]), np.array([0.2, 0.5, 0.3]), np.full(3, 0.3))
    table = charts.distribution_table({charts.SCALED: one, charts.UNSCALED: one})
    return charts.distribution_chart(table, **SIZE)


def encoding_lines_chart():
    table = charts.series_table("rotary", [1, 2, 3], np.arange(3.0), np.zeros(3))
    return charts.encoding_lines_chart(
        table, x_title="apart", y_title="score", names=("rotary",), boundary=(2, "trained"), **SIZE
    )


def exact_match_chart():
    points = [(3, 8, 0.5, 0.4, 0.6), (5, 8, 0.1, 0.0, 0.2), (3, 16, 0.9, 0.8, 1.0)]
    return charts.exact_match_chart(
        charts.exact_match_table(points, (8, 16)),
        lengths=(3, 5),
        bits=("14.4", "21.3"),
        widths=(8, 16),
        attends=True,
        **SIZE,
    )


def fit_chart():
    x = np.linspace(0, 1, 5)
    fit = charts.fit_table(x, x, x**2, 2)
    points = charts.points_table(x[:3], x[:3], np.array([0.2, 0.5, 0.3]))
    return charts.fit_chart(
        fit, points, x_domain=(0, 1), y_domain=(0, 1), largest=0.5, dark=False, height=200
    )


def gap_map_chart():
    table = charts.gap_map_table(TRACKS, (0.5, 1.0), "none")
    return charts.gap_map_chart(table, widths=(4,), gains=(0.5, 1.0), most=1.0, **SIZE)


def learning_chart():
    table = charts.learning_table(np.array([1.0, 0.8, 0.7]), {"best": 0.5, "noise": 0.1}, 2)
    return charts.learning_chart(table, last_step=2, y_domain=(0, 1), **SIZE)


def leave_one_out_chart():
    width = np.array([0.1, 0.2, 0.4])
    table = {"bandwidth": width, "loss": width, "low": width / 2, "high": width * 2}
    return charts.leave_one_out_chart(
        pd.DataFrame({**table, "stderr": width}), pd.DataFrame({"bandwidth": [0.2]}), **SIZE
    )


def matrix_chart():
    values = np.array([[1.0, -np.inf, 0.5], [0.0, 2.0, 3.0]])
    return charts.matrix_chart(
        charts.matrix_table(values), shape=(2, 3), row_title="row", column_title="column",
        domain=(-3, 3), ramp=share_ramp(dark=False), dark=False,
        lit=(charts.Lit("#000000", row=1),),
    )  # fmt: skip


def path_chart():
    table = charts.path_table(np.cos(np.arange(5.0)), np.sin(np.arange(5.0)))
    return charts.path_chart(table, x_title="1", y_title="2", **SIZE)


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


def softmax_chart():
    weights = np.array([0.2, 0.3, 0.5])
    return charts.softmax_chart(charts.softmax_table(weights, weights, weights), keys=3, **SIZE)


def token_map_chart():
    shares = np.array([[0.7, 0.3], [0.2, 0.8]])
    table = charts.token_map_table(
        shares, ("a", "b"), ("b", "a"), seen=np.tri(2, dtype=bool), framed=np.eye(2, dtype=bool)
    )
    return charts.token_map_chart(
        table, rows=("a", "b"), columns=("b", "a"), titles=("source", "target"), known=False,
        meaning="share", dark=False,
    )  # fmt: skip


def training_chart():
    table = charts.training_table(TRACKS, "gap", 0)
    return charts.training_chart(
        table, y_title="gap", last_step=20, widths=(4,), logarithmic=False, **SIZE
    )


# Marks as `marks_of` says them, and items as `drawn` counts them; see there.
EXPECTED = {
    "component_chart": (
        [
            "line x=day y=value color=component detail=component",
            "text x=day y=value text=name",
        ],
        {"line": 8, "text": 8},
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
    "exact_match_chart": (
        [
            "line x=at y=share color=width",
            "rule x=at y=low y2=high color=width",
            "point x=at y=share color=width shape=width",
        ],
        {"line": 3, "rule": 3, "symbol": 3},
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
    "leave_one_out_chart": (
        [
            "area x=bandwidth y=low y2=high",
            "line x=bandwidth y=loss",
            "rule x=bandwidth",
        ],
        {"area": 3, "line": 3, "rule": 1},
    ),
    "matrix_chart": (
        [
            "rect x=column y=row color=value",
            "text x=column y=row text=text",
            "rect x=column y=row",
        ],
        {"rect": 8, "text": 6},
    ),
    "path_chart": (
        [
            "line x=x y=y",
            "point x=x y=y color=day",
            "text x=x y=y text=name",
        ],
        {"line": 5, "symbol": 5, "text": 5},
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
    "softmax_chart": (
        [
            "bar x=key y=weight",
            "tick x=key y=at_one",
            "text x=key y=weight text=weight",
        ],
        {"rect": 6, "text": 3},
    ),
    "token_map_chart": (
        [
            "rect x=column y=row color=share",
            "text x=column y=row text=text",
            "rect x=column y=row",
        ],
        {"rect": 5, "text": 3},
    ),
    "training_chart": (
        [
            "line x=step y=value color=series strokeDash=series opacity=d_attn",
        ],
        {"line": 6, "symbol": 6},
    ),
}
