"""Charts of many runs: drawn from little, with what they are made of."""

import dataclasses

import numpy as np

from attnlab import charts
from attnlab.comparisons.paired import Share
from attnlab.comparisons.summary import References
from attnlab.optimum import Best
from tests.unit.chart_drawing import SIZE
from tests.unit.made_up_results import SHORT, evaluation, row_of

LABELS = ("one", "other")
KNOWN = References(Best(0.9, 0.5), Best(float(np.log(3)), 1 / 3), Best(1.05, 0.4), Best(1.0, 0.45))


def rows():
    tests = ((0, evaluation(1.2)), (10, evaluation(1.0)))
    found = [
        row_of(SHORT, losses, options=[("length", text), ("batch", "9")])
        for text, losses in (("2", [1.0, 0.9]), ("3", [0.95, 0.97]))
    ]
    return [
        dataclasses.replace(
            row,
            references=KNOWN,
            results=tuple(dataclasses.replace(run, tests=tests) for run in row.results),
        )
        for row in found
    ]


def dots_chart():
    tables = [
        charts.seeds_table(rows(), LABELS, "nll"),
        charts.means_table(rows(), LABELS, "nll"),
        charts.references_table(rows(), "nll"),
    ]
    return charts.dots_chart(*tables, figure="nll", labels=LABELS, dark=False)


def losses_chart():
    tests = ((0, evaluation(1.2)), (10, evaluation(1.0)))
    table = charts.losses_table(dict.fromkeys(LABELS, tests), {"floor": 0.9})
    return charts.losses_chart(table, names=LABELS, **SIZE)


def bands_chart():
    return charts.bands_chart(
        charts.bands_table(rows(), LABELS, "loss"),
        charts.each_seed_table(rows(), LABELS, "loss"),
        charts.levels_table(rows(), "loss"),
        measure="loss",
        labels=LABELS,
        log_steps=True,
        log_values=True,
        **SIZE,
    )


def swept_chart():
    return charts.swept_chart(
        charts.swept_table(rows(), "length", "batch", "nll"),
        figure="nll",
        titles=("length", "batch"),
        across=("2", "3"),
        down=("9",),
        domain=(0.9, 1.1),
        dark=False,
    )


def parallel_axes():
    return [
        charts.axis_of_texts("length", ["2", "3"], ("2", "3")),
        charts.axis_of_numbers("loss", [1.0, None], ".2f"),
    ]


def parallel_chart():
    axes = parallel_axes()
    return charts.parallel_chart(
        charts.lines_table(axes, LABELS, (True, False)),
        charts.marks_table(axes),
        titles=("length", "loss"),
        **SIZE,
    )


def shares_chart():
    shares = [Share(("length",), 0.7, 1, 0.3), Share((), 0.3, 2, 0.7)]
    return charts.shares_chart(
        charts.shares_table(shares), parts=charts.share_names(shares), dark=False
    )


# Two settings with two seeds each.
EXPECTED = {
    "dots_chart": (
        [
            "rule x=value y=above y2=below strokeDash=reference",
            "rule x=low x2=high y=place",
            "circle x=value y=place",
            "point x=value y=place",
            "text y=place text=name",
        ],
        {"rule": 10, "symbol": 6, "text": 2},
    ),
    # Two runs of two tests, and a level between two ends.
    "losses_chart": (
        [
            "line x=step y=nats detail=name",
            "text x=step y=nats text=name",
            "line x=step y=nats color=name strokeDash=name",
            "point x=step y=nats color=name",
        ],
        {"line": 6, "text": 1, "symbol": 4},
    ),
    # Three tests each, the last of them the end of the run; two seeds have no band.
    "bands_chart": (
        [
            "rule y=value",
            "text y=value text=name",
            "area x=at y=low y2=high color=setting",
            "line x=at y=value color=setting detail=seed",
            "line x=at y=value color=setting",
        ],
        {"rule": 2, "text": 2, "line": 18, "symbol": 6},
    ),
    "swept_chart": (
        ["rect x=across y=down color=value", "text x=across y=down text=value"],
        {"rect": 2, "text": 2},
    ),
    "parallel_chart": (
        [
            "line x=axis y=height color=lit detail=number opacity=lit",
            "text x=axis y=height text=text",
        ],
        # The box that can be drawn, and its ground.
        {"line": 3, "symbol": 3, "text": 3, "rect": 2},
    ),
    "shares_chart": (
        ["bar x=share y=part color=kind", "tick x=chance y=part", "text x=share y=part text=share"],
        {"rect": 4, "text": 2},
    ),
}
