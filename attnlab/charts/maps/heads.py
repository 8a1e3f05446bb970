"""Maps of query against key side by side, with square cells as large as their place allows."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from attnlab.charts.core.colours import hues, share_ramp
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.maps.heads_grid import READ_HEIGHT, Grid, top_of
from attnlab.charts.maps.placed import (
    LABEL,
    numbers_in,
    percent,
    rows_of,
    span,
    surroundings,
    text,
)


class MapWords(NamedTuple):
    """What maps are of: the name of each, what a cell is, and what its key is."""

    names: tuple[str, ...]
    cell: str
    key: str


# How strong the rows are that have no part in the loss.
_UNTRAINED = 0.35


def heads_table(
    patterns: Float[np.ndarray, "heads query key"],
    unmasked: Bool[np.ndarray, "query key"],
    *,
    heads: Sequence[int],
    words: MapWords,
    read: int,
    trained: bool | Sequence[bool],
    symbols: Sequence[str] | None = None,
) -> pd.DataFrame:
    """A row for every unmasked cell of the `heads`, which count from 0; days count from 1.

    `words` name the heads in the same order.

    `read` is the query, from 0, that makes the prediction; where the others are not `trained`, of
    all heads or of each, they are paler. `symbols` are the tokens of the days, or None for a mean
    over sequences.
    """
    query, key = np.nonzero(unmasked)
    days = np.arange(1, max(unmasked.shape) + 1).astype(str)
    if symbols is not None:
        days = np.array([f"{day} {symbol}" for day, symbol in zip(days, symbols, strict=True)])
    top = np.array([top_of(row, read) for row in range(len(unmasked))])
    parts = [
        pd.DataFrame(
            {
                "place": place,
                "map": name,
                "key": key + 1,
                "top": top[query],
                "high": np.where(query == read, READ_HEIGHT, 1.0),
                "share": patterns[head][query, key].astype(float),
                "strength": np.where((query == read) | whole, 1.0, _UNTRAINED),
                "number": np.where(query == read, percent(patterns[head][query, key]), ""),
                "query_day": days[query],
                "key_day": days[key],
            }
        )
        for place, (head, name, whole) in enumerate(
            zip(heads, words.names, _each(trained, words), strict=True)
        )
    ]
    return pd.concat(parts, ignore_index=True)


def _each(trained: bool | Sequence[bool], words: MapWords) -> Bool[np.ndarray, " heads"]:
    return np.broadcast_to(trained, len(words.names))


def informative_table(days: Sequence[int], heads: int) -> pd.DataFrame:
    """A row for every truly informative day, which count from 1, above every head."""
    pairs = [(place, day) for place in range(heads) for day in days]
    return pd.DataFrame(pairs, columns=["place", "key"], dtype=int)


@drawn_once
def heads_chart(
    table: Rows,
    informative: Rows,
    *,
    words: MapWords,
    shape: tuple[int, int],
    read: int,
    trained: bool | tuple[bool, ...],
    symbols: tuple[str, ...] | None,
    dark: bool,
    height: int,
) -> alt.LayerChart:
    """What `words` say of each query and key, from 0 to 1, for each of their names.

    As many maps stand in a row as make the cells largest; `shape` counts queries and keys. The
    row that makes the prediction is framed; a triangle stands over each truly informative day.
    Only the tables may change while one sequence is watched.
    """
    (_, keys), hue, grid = shape, hues(dark=dark), Grid(len(words.names), shape, read, symbols)
    colour = alt.Color(
        "share:Q",
        scale=alt.Scale(domain=[0, 1], range=list(share_ramp(dark=dark)), clamp=True),
        legend=None,
    )
    tooltip = [
        alt.Tooltip("map:N", title="map"),
        alt.Tooltip("query_day:N", title="query"),
        alt.Tooltip("key_day:N", title="key"),
        alt.Tooltip("share:Q", title=words.cell, format=".3f"),
    ]
    cells = (
        alt.Chart(table)
        .mark_rect(
            aria=False,
            **span("x", grid.x(), f"{grid.x()} + cell - 1"),
            **span("y", grid.y(), f"{grid.y('datum.top + datum.high')} - 1"),
        )
        .encode(
            color=colour,
            opacity=alt.Opacity("strength:Q", scale=None, legend=None),
            tooltip=tooltip,
        )
    )
    names = [{"place": place, "name": name} for place, name in enumerate(words.names)]
    frames = rows_of(names).mark_rect(
        aria=False,
        filled=False,
        stroke=hue.cursor,
        strokeWidth=2,
        **span("x", f"{grid.x('1')} - 2", f"{grid.x(str(keys + 1))} + 1"),
        **span("y", f"{grid.y(str(grid.top))} - 2", f"{grid.y(str(grid.top + READ_HEIGHT))} + 1"),
    )
    numbers = numbers_in(table, grid, dark=dark).encode(tooltip=tooltip)
    around = surroundings(grid, words.names, words.cell, f"key: {words.key}", colour, dark=dark)
    # Above the diagonal there is room, unless the row that predicts is up there.
    pale = [name for name, whole in zip(names, _each(trained, words), strict=True) if not whole]
    note = [_note(pale, grid, keys, hue.truth)] if pale and read else []
    marks = alt.Chart(informative).mark_text(
        aria=False,
        text="▼",
        color=hue.truth,
        fontSize=12,
        baseline="bottom",
        x=alt.ExprRef(f"{grid.x()} + cell / 2"),
        y=alt.ExprRef(f"{grid.y('0')} - 1"),
    )
    return (
        alt.layer(cells, frames, numbers, *around, *note, marks)
        .add_params(*grid.sizes())
        .properties(height=height, padding={"left": 0, "top": 0, "right": 8, "bottom": 0})
    )


def _note(names: Sequence[Mapping[str, object]], grid: Grid, keys: int, colour: str) -> alt.Chart:
    """Over every head, where a causal mask leaves room, that the pale rows are not trained."""
    rows = [{**name, "name": "pale rows:\nnot trained"} for name in names]
    return text(
        rows_of(rows),
        "name",
        grid.x(str(keys + 1)),
        grid.y("0"),
        align="right",
        baseline="top",
        color=colour,
        fontSize=11,
        shown=f"cell >= {LABEL}",
    )
