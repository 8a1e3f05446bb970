"""Targets written without a mistake, against their length and the width of a state."""

import json
from collections.abc import Iterable, Sequence

import altair as alt
import numpy as np
import pandas as pd

from attnlab.charts.core.colours import hues, inks
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.configuration.number_text import show_range

# Between the marks of two widths at one length, on the axis of lengths.
_APART = 0.14
_SHAPES = ("circle", "square", "diamond", "triangle-up", "cross")


def exact_match_table(
    points: Iterable[tuple[int, int, float, float, float]], widths: Sequence[int]
) -> pd.DataFrame:
    """A row a point: the length, the width, the mean and the ends of its interval."""
    table = pd.DataFrame(points, columns=["length", "width", "share", "low", "high"])
    place = table["width"].map({width: at for at, width in enumerate(widths)})
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
    dark: bool,
    height: int,
) -> alt.LayerChart:
    """A line for every width over the lengths, below which stand the bits; the widest strongest.

    `attends` chooses the colour: of what attends, or of what does not.
    """
    hue = hues(dark=dark)
    strong = hue.learned if attends else hue.cursor
    ground = inks(dark=dark).ground
    colours = [_mixed(ground, strong, share) for share in np.linspace(0.5, 1, len(widths))]
    named = json.dumps({str(n): f"{b} bits" for n, b in zip(lengths, bits, strict=True)})
    x = alt.X(
        "at:Q",
        title="cards of the hand, and the bits that tell it",
        scale=alt.Scale(domain=[min(lengths) - 0.6, max(lengths) + 0.6], nice=False),
        axis=alt.Axis(
            values=list(lengths),
            labelExpr=f"['' + datum.value, {named}[datum.value]]",
            labelOverlap=False,
            grid=False,
        ),
    )
    base = alt.Chart(table).encode(
        x=x,
        color=alt.Color(
            "width:O",
            title="width of the state",
            scale=alt.Scale(domain=list(widths), range=list(colours)),
            legend=alt.Legend(orient="top", columns=len(widths)),
        ),
    )

    def y(field: str) -> alt.Y:
        return alt.Y(
            field,
            title="exact match (% of hands)",
            scale=alt.Scale(domain=[0, 1], nice=False),
            axis=alt.Axis(format=".0%", values=[0, 0.25, 0.5, 0.75, 1]),
        )

    return alt.layer(
        base.encode(y=y("share:Q")).mark_line(strokeWidth=1.8, aria=False),
        base.encode(y=y("low:Q"), y2="high:Q").mark_rule(strokeWidth=2, aria=False),
        base.encode(
            y=y("share:Q"),
            shape=alt.Shape(
                "width:N",
                title="width of the state",
                scale=alt.Scale(domain=list(widths), range=list(_SHAPES[: len(widths)])),
            ),
            tooltip=[
                alt.Tooltip("width:O", title="width of the state"),
                alt.Tooltip("length:Q", title="cards"),
                alt.Tooltip("share:Q", title="exact match", format=".1%"),
                alt.Tooltip("interval:N", title="95 % interval over seeds"),
            ],
        ).mark_point(filled=True, opacity=1, size=70, aria=False),
    ).properties(height=height, padding={"right": 16})


def _mixed(first: str, second: str, share: float) -> str:
    """A colour between two, `share` of the second."""
    parts = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (first, second)]
    mixed = [round((1 - share) * a + share * b) for a, b in zip(*parts, strict=True)]
    return "#" + "".join(f"{part:02x}" for part in mixed)
