"""What each target token is taken from: learned alignments beside the true one."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.core.colours import share_ramp, truth_ramp
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.maps.heads_grid import Grid
from attnlab.charts.maps.placed import numbers_in, percent, span, surroundings


def alignment_table(
    learned: Float[np.ndarray, "maps target source"],
    truth: Float[np.ndarray, "target source"],
    *,
    names: Sequence[str],
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
) -> pd.DataFrame:
    """A row for every cell of the learned maps and, behind them, of the true one.

    `names` are those of all of them. `source` and `target` are the tokens of one sequence, or None
    for a mean over several; places count from 1.
    """
    maps = np.concatenate([learned, truth[None]])
    count = maps.shape[1]
    row, column = (index.ravel() for index in np.indices(truth.shape))

    def named(symbols):
        places = range(1, count + 1)
        return np.array([str(p) if symbols is None else f"{p} {symbols[p - 1]}" for p in places])

    targets, sources = named(target), named(source)
    parts = [
        pd.DataFrame(
            {
                "place": place,
                "map": name,
                "key": column + 1,
                "top": row.astype(float),
                "high": 1.0,
                "share": found[row, column].astype(float),
                "number": percent(found[row, column]),
                "target": targets[row],
                "source": sources[column],
                "is_true": place == len(maps) - 1,
            }
        )
        for place, (name, found) in enumerate(zip(names, maps, strict=True))
    ]
    return pd.concat(parts, ignore_index=True)


@drawn_once
def alignment_chart(
    table: Rows,
    *,
    names: tuple[str, ...],
    count: int,
    cell: str,
    source: tuple[str, ...] | None,
    target: tuple[str, ...] | None,
    dark: bool,
    height: int,
) -> alt.LayerChart:
    """Rows are the `count` target tokens, columns those of the source, from 0 to 1.

    The last of the `names` is the truth, in grey. As many maps stand in a row as make the cells
    largest. `cell` says what a cell is. Only the table may change while one sequence is watched.
    """
    grid = Grid(len(names), (count, count), None, source, target)
    tooltip = [
        alt.Tooltip("map:N", title="map"),
        alt.Tooltip("target:N", title="target token"),
        alt.Tooltip("source:N", title="source token"),
        alt.Tooltip("share:Q", title=cell, format=".3f"),
    ]

    def colour(ramp):
        scale = alt.Scale(domain=[0, 1], range=list(ramp), clamp=True)
        return alt.Color("share:Q", scale=scale, legend=None)

    def cells(which, ramp):
        return (
            alt.Chart(table)
            .transform_filter(which)
            .mark_rect(
                aria=False,
                **span("x", grid.x(), f"{grid.x()} + cell - 1"),
                **span("y", grid.y(), f"{grid.y('datum.top + datum.high')} - 1"),
            )
            .encode(color=colour(ramp), tooltip=tooltip)
        )

    learned, true = share_ramp(dark=dark), truth_ramp(dark=dark)
    around = surroundings(
        grid, names, cell, "source token", colour(learned), dark=dark, query="target"
    )
    return (
        alt.layer(
            cells("!datum.is_true", learned),
            cells("datum.is_true", true),
            numbers_in(table, grid, dark=dark).encode(tooltip=tooltip),
            *around,
        )
        .resolve_scale(color="independent")
        .add_params(*grid.sizes())
        .properties(height=height, padding={"left": 0, "top": 0, "right": 8, "bottom": 0})
    )
