"""The chart of the bottleneck: exact match by length and width of the state."""

from collections.abc import Iterable, Sequence
from functools import partial

import altair as alt
import numpy as np
import pandas as pd

from attnlab.charts.drawing import Chart, Rows, drawn_once
from attnlab.charts.heatmap import tip
from attnlab.charts.lines import SHAPES, by_name, top_legend
from attnlab.charts.style import HUES
from attnlab.configuration.number_text import show_range

# Horizontal distance between the marks of two widths at the same length, in units of length.
_APART = 0.14


def exact_match_table(
    points: Iterable[tuple[int, int, float, float, float]], widths: Sequence[int]
) -> pd.DataFrame:
    """Return a table from points of (length, width, mean, low, high), one row per point."""
    table = pd.DataFrame(points, columns=["length", "width", "share", "low", "high"])
    place = table["width"].map(list(widths).index)
    table["at"] = table["length"] + (place - (len(widths) - 1) / 2) * _APART
    table["interval"] = [
        f"{show_range(100 * low, 100 * high, places=1)} %"
        for low, high in zip(table["low"], table["high"], strict=True)
    ]
    return table


@drawn_once
def exact_match_chart(
    table: Rows,
    *,
    lengths: tuple[int, ...],
    bits: tuple[str, ...],
    widths: tuple[int, ...],
    attends: bool,
) -> Chart:
    """Draw exact match against length, one line per width; the widest line is the strongest.

    `bits` are labels below the lengths. `attends` selects the colour of models with attention.
    """
    texts = [[str(n), f"{b} bits"] for n, b in zip(lengths, bits, strict=True)]
    x = alt.X(
        "at:Q",
        title="hand size (bits needed to identify the hand)",
        scale=alt.Scale(domain=[min(lengths) - 0.6, max(lengths) + 0.6], nice=False),
        axis=alt.Axis(
            values=list(lengths),
            labelExpr=f"{texts}[indexof({list(lengths)}, datum.value)]",
            labelOverlap=False,
            grid=False,
        ),
    )
    y = partial(
        alt.Y,
        title="exact match (% of hands)",
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=alt.Axis(format=".0%", values=[0, 0.25, 0.5, 0.75, 1]),
    )
    hue, more = HUES.learned if attends else HUES.cursor, {"title": "width of the state"}
    legend = {"legend": top_legend(columns=len(widths), symbolFillColor=hue, symbolStrokeColor=hue)}
    strength = np.linspace(0.45, 1, len(widths))
    tooltip = [
        tip("width:N", "width of the state"),
        tip("length:Q", "cards"),
        tip("share:Q", "exact match", ".1%"),
        tip("interval:N", "95 % interval over seeds"),
    ]
    base = alt.Chart(table).encode(
        x=x, opacity=by_name(alt.Opacity, "width", widths, strength, **more, **legend)
    )
    at = base.encode(y=y("share:Q"))
    shape = by_name(alt.Shape, "width", widths, SHAPES[: len(widths)], **more)
    return alt.layer(
        at.mark_line(color=hue, strokeWidth=1.8),
        base.encode(y=y("low:Q"), y2="high:Q").mark_rule(color=hue, strokeWidth=2),
        at.encode(shape=shape, tooltip=tooltip).mark_point(color=hue, filled=True, size=70),
    )
