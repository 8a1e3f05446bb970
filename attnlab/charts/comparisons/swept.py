"""A figure against two options: square cells, coloured and numbered."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from attnlab.charts.comparisons.dots import TITLES, has_figure
from attnlab.charts.core.colours import share_ramp
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.legend import ramp_legend
from attnlab.comparisons.summary import Row

_CELL, _AROUND, _LEAST = 62, 110, 230


def swept_table(rows: Sequence[Row], across: str, down: str, figure: str) -> pd.DataFrame:
    """A row for every pair of values: the mean over seeds, and over settings that share it."""
    cells: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        options = dict(row.setting.options)
        if across in options and down in options and has_figure(row, figure):
            place = options[across], options[down]
            cells.setdefault(place, []).append(getattr(row, figure).mean)
    found = [(*place, float(np.mean(each)), len(each)) for place, each in cells.items()]
    return pd.DataFrame(found, columns=["across", "down", "value", "settings"])


@drawn_once
def swept_chart(
    table: Rows,
    *,
    figure: str,
    titles: tuple[str, str],
    across: Sequence[str],
    down: Sequence[str],
    domain: tuple[float, float],
    dark: bool,
) -> alt.LayerChart:
    """Columns and rows are values in their order; colours stand for the fixed `domain`."""
    ramp, low, high = share_ramp(dark=dark), *domain
    side = f"min(width / {len(across)}, height / {len(down)})"
    number, exact = (".0%", ".1%") if figure == "learned" else (".3f", ".4f")
    base = alt.Chart(table).encode(
        x=alt.X(
            "across:O",
            title=f"{titles[0]} →",
            scale=alt.Scale(domain=list(across), range=[0, alt.ExprRef(f"{len(across)} * {side}")]),
            axis=alt.Axis(labelAngle=0, ticks=False, domain=False, titleAnchor="start"),
        ),
        y=alt.Y(
            "down:O",
            title=f"← {titles[1]}",
            scale=alt.Scale(
                domain=list(down), range=[alt.ExprRef("0"), alt.ExprRef(f"{len(down)} * {side}")]
            ),
            axis=alt.Axis(ticks=False, domain=False),
        ),
        tooltip=[
            alt.Tooltip("across:N", title=titles[0]),
            alt.Tooltip("down:N", title=titles[1]),
            alt.Tooltip("value:Q", title=TITLES[figure], format=exact),
            alt.Tooltip("settings:Q", title="settings in the mean", format="d"),
        ],
    )
    colour = alt.Color(
        "value:Q",
        title=TITLES[figure],
        scale=alt.Scale(
            domain=[low, (low + high) / 2, high], range=list(ramp), clamp=True, interpolate="rgb"
        ),
        legend=ramp_legend(length=120, values=[low, high], format=number),
    )
    middle = (low + high) / 2
    numbers = base.encode(
        text=alt.Text("value:Q", format=number),
        color=alt.condition(alt.datum.value > middle, alt.value(ramp.low), alt.value(ramp.high)),
    ).mark_text(fontSize=12, aria=False)
    cells = base.encode(color=colour).mark_rect(aria=False)
    height = max(_LEAST, _CELL * len(down) + _AROUND)
    # Without a width Vega-Lite would ask for one of its own for every column.
    sizes = {"height": height, "width": _LEAST}
    return alt.layer(cells, numbers).properties(**sizes, padding={"right": 16})
