"""Costs against the length of the sequence, on two logarithmic axes."""

from collections.abc import Iterable, Sequence

import altair as alt
import pandas as pd

from attnlab.charts.core.colours import hues, past_hue
from attnlab.charts.core.drawing import Rows, drawn_once

# So many names stand beside each other on a phone.
_COLUMNS = 2
# By its form, too, for those who see no difference of colour.
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")


def cost_table(costs: Iterable[tuple[str, int, float, float, float]]) -> pd.DataFrame:
    """A row for every series, length, value, least and most."""
    return pd.DataFrame(costs, columns=["series", "length", "value", "low", "high"])


@drawn_once
def cost_chart(
    table: Rows,
    *,
    series: Sequence[str],
    lengths: Sequence[int],
    y_title: str,
    ranges: bool = True,
    today: int | None = None,
    dark: bool,
    height: int,
) -> alt.LayerChart:
    """A line for each of `series`, with bars from the least to the most where there are `ranges`.

    `today` is a length to be marked.
    """
    hue = hues(dark=dark)
    x = alt.X(
        "length:Q",
        title="length of the sequence",
        scale=alt.Scale(type="log", base=2, domain=[min(lengths), max(lengths)], nice=False),
        axis=alt.Axis(values=list(lengths), format=",d", labelOverlap=True),
    )
    scale = alt.Scale(type="log", nice=False, padding=8)

    def y(field: str) -> alt.Y:
        return alt.Y(field, title=y_title, scale=scale, axis=alt.Axis(format=",~g", tickCount=6))

    numbers = range(len(series))
    colour = alt.Color(
        "series:N",
        title=None,
        scale=alt.Scale(
            domain=list(series), range=[past_hue(number, dark=dark) for number in numbers]
        ),
        legend=alt.Legend(orient="top", symbolOpacity=1, columns=_COLUMNS),
    )
    shape = alt.Shape(
        "series:N",
        title=None,
        scale=alt.Scale(
            domain=list(series), range=[_SHAPES[number % len(_SHAPES)] for number in numbers]
        ),
    )
    tooltip = [
        alt.Tooltip("series:N", title=" "),
        alt.Tooltip("length:Q", format=",d"),
        alt.Tooltip("value:Q", title=y_title, format=",.3~g"),
    ]
    if ranges:
        tooltip += [
            alt.Tooltip("low:Q", title="least", format=",.3~g"),
            alt.Tooltip("high:Q", title="most", format=",.3~g"),
        ]
    base = alt.Chart(table).encode(x=x, color=colour)
    layers = [
        base.encode(y=y("value:Q")).mark_line(strokeWidth=1.5, opacity=0.6, aria=False),
        base.encode(y=y("value:Q"), shape=shape, tooltip=tooltip).mark_point(
            filled=True, size=55, opacity=1, aria=False
        ),
    ]
    if ranges:
        bars = base.encode(y=y("low:Q"), y2="high:Q")
        layers.insert(1, bars.mark_rule(strokeWidth=2, aria=False))
    if today is not None:
        here = alt.Chart(alt.InlineData([{"length": today}])).encode(x=x)
        layers.insert(0, here.mark_rule(color=hue.truth, strokeDash=[4, 4], aria=False))
    return alt.layer(*layers).properties(height=height, padding={"right": 16})
