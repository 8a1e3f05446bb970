"""Marks whose places are expressions of the width that their chart comes to have."""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
from jaxtyping import Float

from attnlab.charts.core.colours import hues, inks
from attnlab.charts.core.drawing import Rows
from attnlab.charts.core.legend import drawn_ramp
from attnlab.charts.maps.heads_grid import TOP, Grid

# Of cells narrower than this not every one has its token beside it, or its number in it.
LABEL, _NUMBER = 17, 22


def percent(shares: Float[np.ndarray, " cells"]) -> np.ndarray:
    """As whole percent, where there is one to speak of."""
    return np.array([f"{100 * share:.0f}" if share >= 0.05 else "" for share in shares], dtype=str)


def span(axis: str, start: str, end: str) -> Mapping[str, alt.ExprRef]:
    """From one place to another along an axis."""
    return {axis: alt.ExprRef(start), f"{axis}2": alt.ExprRef(end)}


def rows_of(rows: Sequence[Mapping[str, object]]) -> alt.Chart:
    """A chart of rows that never change."""
    return alt.Chart(alt.InlineData(list(rows)))


def text(
    chart: alt.Chart,
    field: str,
    x: str,
    y: str,
    *,
    color: str | alt.ExprRef,
    align: str = "left",
    baseline: str = "middle",
    shown: str = "true",
    **look: object,
) -> alt.Chart:
    """The words of a field at a place."""
    return chart.mark_text(
        aria=False,
        color=color,
        align=align,
        baseline=baseline,
        lineBreak="\n",
        opacity=alt.ExprRef(f"{shown} ? 1 : 0"),
        x=alt.ExprRef(x),
        y=alt.ExprRef(y),
        **look,
    ).encode(text=f"{field}:N")


def numbers_in(table: Rows, grid: Grid, *, dark: bool) -> alt.Chart:
    """The column `number` in the cells, where they are large enough, on the ground of `share`."""
    dark_ink, light_ink = "#14132a", "#ffffff"
    if dark:
        ink = alt.ExprRef(f"datum.share > 0.6 ? '{dark_ink}' : '{light_ink}'")
    else:
        ink = alt.ExprRef(f"datum.share > 0.4 ? '{light_ink}' : '{dark_ink}'")
    return text(
        alt.Chart(table),
        "number",
        f"{grid.x()} + cell / 2",
        grid.y("datum.top + datum.high / 2"),
        align="center",
        shown=f"cell >= {_NUMBER}",
        color=ink,
    )


def surroundings(
    grid: Grid,
    names: Sequence[str],
    cell: str,
    key: str,
    colour: alt.Color,
    *,
    dark: bool,
    query: str = "query",
) -> list[alt.Chart]:
    """The names of maps, of their queries and keys, and the scale of what a `cell` is."""
    hue, ink, seldom = hues(dark=dark), inks(dark=dark).ink, f"ceil({LABEL} / cell)"
    placed = rows_of([{"place": place, "name": name} for place, name in enumerate(names)])
    # Where the scale begins: beyond what its words and those of the keys take in large type, but
    # on a phone, which has no room for that.
    unit = f"(cell >= {_NUMBER} && width > 520)"
    scale = f"({grid.left} + (width > 520 ? 350 : 240))"
    return [
        text(placed, "name", grid.x("1"), f"{grid.y('0')} - 24", color=ink, fontWeight="bold"),
        text(
            rows_of(grid.key_days()),
            "name",
            f"{grid.x()} + cell / 2",
            f"{grid.y(str(grid.rows))} + 5",
            align="center",
            baseline="top",
            color=hue.key,
            shown=f"(datum.key - 1) % {seldom} == 0",
        ),
        text(
            rows_of(grid.query_days()),
            "name",
            f"{grid.x('1')} - 8",
            grid.y(),
            align="right",
            color=hue.query,
            shown=f"datum.place % columns == 0 && (datum.read || datum.day % {seldom} == 0)",
        ),
        text(rows_of([{"place": 0, "name": query}]), "name", "0", str(TOP - 24), color=hue.query),
        text(rows_of([{"name": key}]), "name", f"{grid.left}", grid.foot, color=hue.key),
        text(
            rows_of([{"name": "in cells: %"}]),
            "name",
            # What is not seen takes its room all the same, of which a phone has none.
            f"{unit} ? {scale} + 68 : 0",
            grid.foot,
            color=ink,
            shown=unit,
        ),
        *drawn_ramp(cell, scale, grid.foot, colour=colour, ink=ink),
    ]
