"""The final prediction alone: what it attends to and depends on, and the truth, a row each."""

from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.core.colours import Ramp, hues, inks, share_ramp, truth_ramp
from attnlab.charts.core.days import day_axis
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.legend import ramp_legend

# The row of what is known and not learned.
TRUTH = "truth"
# Pixels of a cell that has room for its number.
_NUMBER_WIDTH = 28


def final_query_table(rows: Mapping[str, Float[np.ndarray, " day"]]) -> pd.DataFrame:
    """A row for every named series and day; days count from 1."""
    parts = [
        pd.DataFrame({"row": name, "day": np.arange(1, len(values) + 1), "value": values})
        for name, values in rows.items()
    ]
    return pd.concat(parts, ignore_index=True)


@drawn_once
def final_query_chart(
    table: Rows,
    *,
    rows: tuple[str, ...],
    symbols: tuple[str, ...],
    most: float,
    title: str,
    dark: bool,
    height: int,
) -> alt.LayerChart:
    """The rows in their order over the days, all on the scale from 0 to `most`.

    `symbols` are the tokens of the days. The row `TRUTH` is grey, the others violet.
    """
    hue, days = hues(dark=dark), list(range(1, len(symbols) + 1))
    base = alt.Chart(table).encode(
        x=alt.X(
            "day:O",
            title="day",
            scale=alt.Scale(domain=days, paddingInner=0.04),
            axis=day_axis(days, symbols, hue.key, upright=True),
        ),
        y=alt.Y(
            "row:N",
            title=None,
            sort=list(rows),
            scale=alt.Scale(domain=list(rows), paddingInner=0.1),
            axis=alt.Axis(ticks=False, domain=False, labelLimit=120),
        ),
        tooltip=[
            alt.Tooltip("row:N"),
            alt.Tooltip("day:O"),
            alt.Tooltip("value:Q", title=title, format=".3f"),
        ],
    )

    def cells(condition: str, ramp: Ramp, legend: alt.Legend | None) -> alt.Chart:
        scale = alt.Scale(domain=[0, most], range=list(ramp), clamp=True)
        return (
            base.transform_filter(condition)
            .mark_rect(aria=False)
            .encode(color=alt.Color("value:Q", title=title, scale=scale, legend=legend))
        )

    legend = ramp_legend(values=[0, most / 2, most], format=".3~g", titleLimit=220)
    ground, ink = inks(dark=dark)
    has_room = f"width >= {_NUMBER_WIDTH * len(days)} ? 1 : 0"
    layers = [
        cells(f"datum.row !== '{TRUTH}'", share_ramp(dark=dark), legend),
        cells(f"datum.row === '{TRUTH}'", truth_ramp(dark=dark), None),
        base.mark_text(aria=False, fontSize=11, opacity=alt.ExprRef(has_room)).encode(
            text=alt.Text("value:Q", format=".2f"),
            color=alt.condition(alt.datum.value > 0.55 * most, alt.value(ground), alt.value(ink)),
        ),
    ]
    return alt.layer(*layers).resolve_scale(color="independent").properties(height=height)
