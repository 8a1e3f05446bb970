"""Attends, depends, truth: three shares of the same days."""

from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.core.colours import hues, signed_ramp
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.legend import ramp_legend


def days_table(shares: Mapping[str, Float[np.ndarray, " day"]]) -> pd.DataFrame:
    """A row for every series and day; days count from 1."""
    parts = [
        pd.DataFrame({"series": name, "day": np.arange(1, len(values) + 1), "share": values})
        for name, values in shares.items()
    ]
    return pd.concat(parts, ignore_index=True)


@drawn_once
def days_chart(table: Rows, *, series: tuple[str, ...], dark: bool, height: int) -> alt.Chart:
    """Bars side by side, one group a day; `series` are the names of the table in their order."""
    hue = hues(dark=dark)
    colours = [hue.learned, hue.cursor, hue.truth][-len(series) :]
    return (
        alt.Chart(table)
        .mark_bar(aria=False)
        .encode(
            x=alt.X("day:O", title="day", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
            xOffset=alt.XOffset("series:N", sort=list(series)),
            y=alt.Y("share:Q", title="share of the row", scale=alt.Scale(domainMin=0)),
            color=alt.Color(
                "series:N",
                title=None,
                scale=alt.Scale(domain=list(series), range=colours),
                legend=alt.Legend(orient="top"),
            ),
            tooltip=["series:N", "day:O", alt.Tooltip("share:Q", format=".3f")],
        )
        .properties(height=height)
    )


def difference_table(
    one: Float[np.ndarray, "query day"], other: Float[np.ndarray, "query day"], first_query: int
) -> pd.DataFrame:
    """one - other, cell by cell on and below the diagonal."""
    query, day = np.indices(one.shape)
    seen = day <= query + first_query - 1
    values = (one - other)[seen]
    return pd.DataFrame(
        {"query": query[seen] + first_query, "key": day[seen] + 1, "difference": values}
    )


@drawn_once
def difference_chart(table: Rows, *, length: int, dark: bool, height: int) -> alt.Chart:
    """A difference of two maps on a fixed scale from -1 to 1."""
    days = list(range(1, length + 1))
    hue, ramp = hues(dark=dark), signed_ramp(dark=dark)
    axis = {"labelAngle": 0, "labelOverlap": True, "ticks": False, "domain": False}
    return (
        alt.Chart(table, padding={"right": 16})
        .mark_rect(aria=False)
        .encode(
            x=alt.X(
                "key:O",
                title="day →",
                scale=alt.Scale(domain=days),
                axis=alt.Axis(titleColor=hue.key, **axis),
            ),
            y=alt.Y(
                "query:O",
                title="← query day",
                scale=alt.Scale(domain=days),
                axis=alt.Axis(titleColor=hue.query, **axis),
            ),
            color=alt.Color(
                "difference:Q",
                title="difference of shares",
                scale=alt.Scale(domain=[-1, 0, 1], range=list(ramp), clamp=True),
                legend=ramp_legend(values=[-1, 0, 1]),
            ),
            tooltip=["query:O", "key:O", alt.Tooltip("difference:Q", format="+.3f")],
        )
        .properties(height=height)
    )
