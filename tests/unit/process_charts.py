"""Charts of processes and of any series: drawn from little, with what they are made of."""

import numpy as np

from attnlab import charts
from attnlab.generators import Outline, RuleTable
from tests.unit.chart_drawing import SIZE, SYMBOLS

MOVING = ((0.5, 0.3, 0.2), (0.1, 0.8, 0.1), (0.2, 0.2, 0.6))


def curve_chart():
    values = np.array([1.0, 0.9, 0.8, 0.7])
    table = charts.curve_table(np.arange(1, 5), values, values / 10)
    return charts.curve_chart(
        table, x_title="day", y_title="nats", domain=(0, 2), reference=("chance", 1.1),
        named_above=True, **SIZE,
    )  # fmt: skip


def frequency_chart():
    known, counted = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.2, 0.2])
    table = charts.frequency_table(known, counted, known / 10, SYMBOLS)
    return charts.frequency_chart(table, names=SYMBOLS, title="share", dark=False)


def frequency_map_chart():
    known, names = np.array(MOVING), [f"{a} → {b}" for a in SYMBOLS for b in SYMBOLS]
    table = charts.frequency_table(known.ravel(), known.ravel(), known.ravel() / 10, names)
    return charts.frequency_map_chart(
        table, symbols=SYMBOLS, of="counted", row_title="day 1", column_title="day 2", most=1.0,
        dark=False,
    )  # fmt: skip


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


# Marks as `marks_of` says them, and items as `drawn` counts them; see there.
EXPECTED = {
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
    "frequency_map_chart": (["rect x=second y=first color=counted"], {"rect": 9}),
    "frequency_chart": (
        [
            "bar x=known y=row color=series",
            "rule x=low x2=high y=row color=series",
            "point x=counted y=row color=series",
        ],
        {"rect": 3, "rule": 3, "symbol": 3},
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
}
