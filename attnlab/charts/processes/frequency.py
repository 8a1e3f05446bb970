"""Probabilities as bars or as a map, and beside them what a sample showed."""

import json
from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.core.colours import hues, truth_ramp
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.legend import ramp_legend
from attnlab.charts.core.scale import cell_scale

_ROW = 26
# What the legend and the lower axis take of the height.
_AROUND = 120
_MAP_ROW, _LEAST_MAP = 8, 240
_KNOWN, _COUNTED = "the process", "the sample"


def frequency_table(
    known: Float[np.ndarray, " outcomes"],
    counted: Float[np.ndarray, " outcomes"],
    stderr: Float[np.ndarray, " outcomes"],
    names: Sequence[str],
) -> pd.DataFrame:
    """A row for every outcome, in the order of `names`; outcomes without figures are left out."""
    table = pd.DataFrame(
        {
            "row": np.arange(len(names)),
            "name": names,
            "known": known,
            "counted": counted,
            "error": stderr,
            "low": np.maximum(counted - stderr, 0),
            "high": np.minimum(counted + stderr, 1),
        }
    )
    return table.dropna(subset=["known"])


@drawn_once
def frequency_chart(
    table: Rows, *, names: tuple[str, ...], title: str, dark: bool
) -> alt.LayerChart:
    """A grey bar for each probability, a point with its standard error for the sample's share."""
    hue = hues(dark=dark)
    labels = json.dumps(list(names), ensure_ascii=False)
    y = alt.Y(
        "row:O",
        title=None,
        scale=alt.Scale(domain=list(range(len(names)))),
        axis=alt.Axis(
            labelExpr=f"{labels}[datum.value]", labelOverlap=False, ticks=False, labelFontSize=15
        ),
    )
    legend = alt.Color(
        "series:N",
        title=None,
        scale=alt.Scale(domain=[_KNOWN, _COUNTED], range=[hue.truth, hue.sampled]),
        legend=alt.Legend(orient="top"),
    )
    base = alt.Chart(table).encode(
        y=y,
        tooltip=_tooltip(),
    )
    known, counted = (
        base.transform_calculate(series=f"'{name}'").encode(color=legend)
        for name in (_KNOWN, _COUNTED)
    )
    share = alt.Scale(domain=[0, 1])
    return alt.layer(
        known.encode(x=alt.X("known:Q", title=title, scale=share)).mark_bar(
            opacity=0.45, height=_ROW * 0.65, aria=False
        ),
        counted.encode(x=alt.X("low:Q", title=title, scale=share), x2="high:Q").mark_rule(
            strokeWidth=3, aria=False
        ),
        counted.encode(x=alt.X("counted:Q", title=title, scale=share)).mark_point(
            filled=True, size=45, opacity=1, aria=False
        ),
    ).properties(height=len(names) * _ROW + _AROUND)


@drawn_once
def frequency_map_chart(
    table: Rows,
    *,
    symbols: tuple[str, ...],
    of: str,
    row_title: str,
    column_title: str,
    most: float,
    dark: bool,
) -> alt.Chart:
    """The frequencies of all pairs of `symbols`, row by row, as a heatmap from 0 to `most`.

    `of` is the column of the table that the colours show, "known" or "counted".
    """
    size, ramp = len(symbols), truth_ramp(dark=dark)
    labels = json.dumps(list(symbols), ensure_ascii=False)

    def axis(**more) -> alt.Axis:
        return alt.Axis(
            labelExpr=f"{labels}[datum.value]",
            labelOverlap=True,
            labelFontSize=11,
            ticks=False,
            domain=False,
            **more,
        )

    return (
        alt.Chart(table)
        .transform_calculate(first=f"floor(datum.row / {size})", second=f"datum.row % {size}")
        .mark_rect(aria=False)
        .encode(
            x=alt.X(
                "second:O",
                title=column_title,
                scale=cell_scale(range(size)),
                axis=axis(labelAngle=-90),
            ),
            y=alt.Y("first:O", title=row_title, scale=cell_scale(range(size)), axis=axis()),
            color=alt.Color(
                f"{of}:Q",
                title=_KNOWN if of == "known" else _COUNTED,
                scale=alt.Scale(domain=[0, most], range=list(ramp), clamp=True),
                legend=ramp_legend(values=[0, most]),
            ),
            tooltip=_tooltip(),
        )
        .properties(height=max(_LEAST_MAP, _MAP_ROW * size) + _AROUND, padding={"right": 16})
    )


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("name:N", title="what"),
        alt.Tooltip("known:Q", title=_KNOWN, format=".4f"),
        alt.Tooltip("counted:Q", title=_COUNTED, format=".4f"),
        alt.Tooltip("error:Q", title="± standard error", format=".4f"),
    ]
