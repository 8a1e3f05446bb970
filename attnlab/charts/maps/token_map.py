"""A map from token to token: shares as colour and number, some cells framed."""

import json
from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from attnlab.charts.core.colours import hues, share_ramp, truth_ramp
from attnlab.charts.core.drawing import Rows, drawn_once

# Pixels of a row, and what titles, labels and margins take.
_ROW, _AROUND = 30, 76


def token_map_table(
    shares: Float[np.ndarray, "query key"],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    seen: Bool[np.ndarray, "query key"] | None = None,
    framed: Bool[np.ndarray, "query key"] | None = None,
) -> pd.DataFrame:
    """A row for every cell that may be `seen`, with its tokens; `framed` ones get a frame."""
    seen = np.ones(shares.shape, bool) if seen is None else seen
    framed = np.zeros(shares.shape, bool) if framed is None else framed
    row, column = np.nonzero(seen)
    values = shares[row, column].astype(float)
    return pd.DataFrame(
        {
            "row": row + 1,
            "column": column + 1,
            "share": values,
            "text": [f"{value:.0f}" if value in (0, 1) else f"{value:.2f}" for value in values],
            "framed": framed[row, column],
            "query": [f"{at + 1} {rows[at]}" for at in row],
            "key": [f"{at + 1} {columns[at]}" for at in column],
        }
    )


@drawn_once
def token_map_chart(
    table: Rows,
    *,
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    titles: tuple[str, str],
    known: bool,
    meaning: str,
    dark: bool,
) -> alt.LayerChart:
    """Shares from 0 to 1 as colour and number, tokens along both axes, true cells framed.

    `titles` are those of columns and rows; what is `known` and not learned is grey.
    """
    ramp, hue = (truth_ramp if known else share_ramp)(dark=dark), hues(dark=dark)
    ink, paper = ("#e6e9f0", "#12151c") if dark else ("#1d2433", "#ffffff")
    base = alt.Chart(table).encode(
        x=alt.X(
            "column:O",
            title=titles[0],
            scale=alt.Scale(domain=list(range(1, len(columns) + 1))),
            axis=_token_axis(columns, hue.key),
        ),
        y=alt.Y(
            "row:O",
            title=titles[1],
            scale=alt.Scale(domain=list(range(1, len(rows) + 1))),
            axis=_token_axis(rows, hue.query),
        ),
    )
    cells = base.mark_rect(aria=False).encode(
        color=alt.Color(
            "share:Q",
            scale=alt.Scale(domain=[0, 0.5, 1], range=list(ramp), clamp=True, interpolate="rgb"),
            legend=None,
        ),
        tooltip=[
            alt.Tooltip("query:N", title=titles[1].strip("← ")),
            alt.Tooltip("key:N", title=titles[0].strip(" →")),
            alt.Tooltip("share:Q", title=meaning, format=".3f"),
        ],
    )
    numbers = base.mark_text(fontSize=12, aria=False).encode(
        text="text:N",
        color=alt.condition(alt.datum.share > 0.5, alt.value(paper), alt.value(ink)),
    )
    frames = base.transform_filter(alt.datum.framed).mark_rect(
        fill=None, stroke=hue.truth, strokeWidth=2, strokeDash=[4, 2], aria=False
    )
    return alt.layer(cells, numbers, frames).properties(
        height=_ROW * len(rows) + _AROUND, padding={"right": 12}
    )


def _token_axis(tokens: Sequence[str], colour: str) -> alt.Axis:
    names = json.dumps(list(tokens), ensure_ascii=False)
    return alt.Axis(
        labelExpr=f"{names}[datum.value - 1]",
        labelAngle=0,
        labelOverlap=False,
        ticks=False,
        domain=False,
        titleColor=colour,
    )
