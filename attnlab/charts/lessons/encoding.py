"""Positional encodings as curves: components, distances, and two components as a path."""

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.core.colours import hues, share_ramp
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.legend import ramp_legend

_MOST_NUMBERED = 12


def component_table(rows: Float[np.ndarray, "length features"]) -> pd.DataFrame:
    """A row for every position and component; both count from 1.

    A dozen components at most have their number as a `name`, each at a position of its own.
    """
    length, width = rows.shape
    day, component = (index.ravel() for index in np.indices(rows.shape))
    named = np.arange(0, width, -(-width // _MOST_NUMBERED))
    places = np.round((np.arange(named.size) + 0.5) / named.size * (length - 1)).astype(int)
    name = np.full(rows.shape, "", dtype=object)
    name[places, named] = (named + 1).astype(str)
    return pd.DataFrame(
        {"day": day + 1, "component": component + 1, "value": rows.ravel(), "name": name.ravel()}
    )


@drawn_once
def component_chart(
    table: Rows, *, domain: tuple[float, float], dark: bool, height: int
) -> alt.LayerChart:
    """A line for every component, from the first, bright, to the last, faint; some numbered."""
    ramp = share_ramp(dark=dark)
    base = alt.Chart(table).encode(
        x=alt.X("day:Q", title="position (day)", axis=alt.Axis(tickMinStep=1, grid=False)),
        y=alt.Y("value:Q", title="component", scale=alt.Scale(domain=list(domain))),
        tooltip=[
            alt.Tooltip("day:Q"),
            alt.Tooltip("component:Q"),
            alt.Tooltip("value:Q", format=".4f"),
        ],
    )
    lines = base.mark_line(strokeWidth=1.6, aria=False).encode(
        color=alt.Color(
            "component:Q",
            title="component",
            scale=alt.Scale(range=[ramp.high, ramp.middle]),
            legend=ramp_legend(tickMinStep=1, format="d"),
        ),
        detail="component:N",
    )
    numbers = base.mark_text(
        dy=-8, fontSize=11, fontWeight="bold", color=hues(dark=dark).truth, aria=False
    ).encode(text="name:N")
    return alt.layer(lines, numbers).properties(height=height, padding={"right": 12})


def profile_table(
    apart: np.ndarray, mean: np.ndarray, least: np.ndarray, most: np.ndarray
) -> pd.DataFrame:
    """A row for every distance of two positions."""
    return pd.DataFrame({"apart": apart, "mean": mean, "least": least, "most": most})


@drawn_once
def profile_chart(table: Rows, *, title: str, dark: bool, height: int) -> alt.LayerChart:
    """A figure against the distance of two positions, with a band from its least to its most."""
    hue = hues(dark=dark)
    base = alt.Chart(table).encode(
        x=alt.X("apart:Q", title="positions apart", axis=alt.Axis(tickMinStep=1, grid=False)),
        tooltip=[
            alt.Tooltip("apart:Q", title="positions apart"),
            alt.Tooltip("mean:Q", format=".4f"),
            alt.Tooltip("least:Q", format=".4f"),
            alt.Tooltip("most:Q", format=".4f"),
        ],
    )
    scale = alt.Scale(zero=False)
    return alt.layer(
        base.mark_area(color=hue.truth, opacity=0.3, aria=False).encode(
            y=alt.Y("least:Q", title=title, scale=scale), y2="most:Q"
        ),
        base.mark_line(color=hue.truth, strokeDash=[5, 4], aria=False).encode(
            y=alt.Y("mean:Q", title=title, scale=scale)
        ),
    ).properties(height=height, padding={"right": 12})


def path_table(x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    """A row for every position: its place in the plane, and for some of them its number."""
    days = np.arange(1, len(x) + 1)
    every = max(1, len(x) // 8)
    names = np.where((days - 1) % every == 0, days, "").astype(str)
    return pd.DataFrame({"day": days, "x": x, "y": y, "name": names})


@drawn_once
def path_chart(
    table: Rows, *, x_title: str, y_title: str, dark: bool, height: int
) -> alt.LayerChart:
    """Two components as a path through the plane, with the number of some positions."""
    hue, ramp = hues(dark=dark), share_ramp(dark=dark)
    # Room for the numbers beside the outermost points.
    padded = alt.Scale(zero=False, padding=14)
    base = alt.Chart(table).encode(
        x=alt.X("x:Q", title=x_title, scale=padded),
        y=alt.Y("y:Q", title=y_title, scale=padded),
        order="day:Q",
    )
    return alt.layer(
        base.mark_line(color=hue.training, strokeWidth=1, aria=False),
        base.mark_point(filled=True, size=40, opacity=1, aria=False).encode(
            color=alt.Color("day:Q", scale=alt.Scale(range=[ramp.middle, ramp.high]), legend=None),
            tooltip=[
                alt.Tooltip("day:Q", title="position (day)"),
                alt.Tooltip("x:Q", title=x_title, format=".4f"),
                alt.Tooltip("y:Q", title=y_title, format=".4f"),
            ],
        ),
        base.mark_text(dx=9, dy=-8, color=hue.truth, aria=False).encode(text="name:N"),
    ).properties(height=height, padding={"right": 12})


@drawn_once
def encoding_lines_chart(
    table: Rows,
    *,
    x_title: str,
    y_title: str,
    names: tuple[str, ...],
    boundary: tuple[float, str] | None,
    dark: bool,
    height: int,
) -> alt.LayerChart:
    """Lines of `at`, `value` by `series`; `boundary` is a named upright rule."""
    hue = hues(dark=dark)
    scale = alt.Scale(domain=list(names), range=[hue.truth, hue.sampled][: len(names)])
    lines = (
        alt.Chart(table)
        .mark_line(aria=False)
        .encode(
            x=alt.X("at:Q", title=x_title, axis=alt.Axis(tickMinStep=1, grid=False)),
            y=alt.Y("value:Q", title=y_title),
            color=alt.Color(
                "series:N", title=None, scale=scale, legend=alt.Legend(orient="top", labelLimit=240)
            ),
            strokeDash=alt.StrokeDash("series:N", title=None, scale=alt.Scale(domain=list(names))),
            tooltip=[
                alt.Tooltip("series:N", title="encoding"),
                alt.Tooltip("at:Q", title=x_title),
                alt.Tooltip("value:Q", title=y_title, format=".4f"),
            ],
        )
    )
    layers = [lines]
    if boundary is not None:
        place = [{"at": boundary[0], "name": boundary[1]}]
        mark = alt.Chart(alt.InlineData(values=place)).encode(x="at:Q")
        layers.append(mark.mark_rule(color=hue.truth, strokeDash=[2, 3], aria=False))
        layers.append(
            mark.mark_text(
                align="left", dx=4, dy=-4, baseline="top", color=hue.truth, aria=False
            ).encode(text="name:N", y=alt.value(8))
        )
    return alt.layer(*layers).properties(height=height, padding={"right": 12})
