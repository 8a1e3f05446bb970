"""Maps of query against key side by side, with square cells as large as their place allows."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from attnlab.charts.core.colours import hues, inks, share_ramp
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.legend import drawn_ramp
from attnlab.charts.runs.heads_grid import READ_HEIGHT, TOP, Grid, top_of


class MapWords(NamedTuple):
    """What maps are of: the name of each, what a cell is, and what its key is."""

    names: tuple[str, ...]
    cell: str
    key: str


# Of cells narrower than this not every one has its day beside it, or its number in it.
_LABEL, _NUMBER = 17, 22
# How strong the rows are that have no part in the loss.
_UNTRAINED = 0.35


def heads_table(
    patterns: Float[np.ndarray, "heads query key"],
    unmasked: Bool[np.ndarray, "query key"],
    *,
    heads: Sequence[int],
    words: MapWords,
    read: int,
    trained: bool,
    symbols: Sequence[str] | None = None,
) -> pd.DataFrame:
    """A row for every unmasked cell of the `heads`, which count from 0; days count from 1.

    `words` name the heads in the same order.

    `read` is the query, from 0, that makes the prediction; where the others are not `trained` they
    are paler. `symbols` are the tokens of the days, or None for a mean over sequences.
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
                "strength": np.where((query == read) | trained, 1.0, _UNTRAINED),
                "number": np.where(query == read, _percent(patterns[head][query, key]), ""),
                "query_day": days[query],
                "key_day": days[key],
            }
        )
        for place, (head, name) in enumerate(zip(heads, words.names, strict=True))
    ]
    return pd.concat(parts, ignore_index=True)


def _percent(shares: Float[np.ndarray, " cells"]) -> np.ndarray:
    """As whole percent, where there is one to speak of."""
    return np.array([f"{100 * share:.0f}" if share >= 0.05 else "" for share in shares], dtype=str)


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
    trained: bool,
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
            **_span("x", grid.x(), f"{grid.x()} + cell - 1"),
            **_span("y", grid.y(), f"{grid.y('datum.top + datum.high')} - 1"),
        )
        .encode(
            color=colour,
            opacity=alt.Opacity("strength:Q", scale=None, legend=None),
            tooltip=tooltip,
        )
    )
    names = [{"place": place, "name": name} for place, name in enumerate(words.names)]
    frames = _data(names).mark_rect(
        aria=False,
        filled=False,
        stroke=hue.cursor,
        strokeWidth=2,
        **_span("x", f"{grid.x('1')} - 2", f"{grid.x(str(keys + 1))} + 1"),
        **_span("y", f"{grid.y(str(grid.top))} - 2", f"{grid.y(str(grid.top + READ_HEIGHT))} + 1"),
    )
    dark_ink, light_ink = "#14132a", "#ffffff"
    numbers = _text(
        alt.Chart(table),
        "number",
        f"{grid.x()} + cell / 2",
        grid.y("datum.top + datum.high / 2"),
        align="center",
        shown=f"cell >= {_NUMBER}",
        color=alt.ExprRef(
            f"datum.share > 0.6 ? '{dark_ink}' : '{light_ink}'"
            if dark
            else f"datum.share > 0.4 ? '{light_ink}' : '{dark_ink}'"
        ),
    ).encode(tooltip=tooltip)
    seldom = f"ceil({_LABEL} / cell)"
    ink = inks(dark=dark).ink
    # Where the scale begins: beyond what its words and those of the keys take in large type, but
    # on a phone, which has no room for that.
    unit = f"(cell >= {_NUMBER} && width > 520)"
    scale = f"({grid.left} + (width > 520 ? 350 : 240))"
    texts = [
        _text(
            _data(names),
            "name",
            grid.x("1"),
            f"{grid.y('0')} - 24",
            color=ink,
            fontWeight="bold",
        ),
        _text(
            _data(grid.key_days()),
            "name",
            f"{grid.x()} + cell / 2",
            f"{grid.y(str(grid.rows))} + 5",
            align="center",
            baseline="top",
            color=hue.key,
            shown=f"(datum.key - 1) % {seldom} == 0",
        ),
        _text(
            _data(grid.query_days()),
            "name",
            f"{grid.x('1')} - 8",
            grid.y(),
            align="right",
            color=hue.query,
            shown=f"datum.place % columns == 0 && (datum.read || datum.day % {seldom} == 0)",
        ),
        _text(_data([{"place": 0, "name": "query"}]), "name", "0", str(TOP - 24), color=hue.query),
        _text(
            _data([{"name": f"key: {words.key}"}]),
            "name",
            f"{grid.left}",
            grid.foot,
            color=hue.key,
        ),
        # Above the diagonal there is room, unless the row that predicts is up there.
        *([] if trained or not read else [_note(names, grid, keys, hue.truth)]),
        _text(
            _data([{"name": "in cells: %"}]),
            "name",
            # What is not seen takes its room all the same, of which a phone has none.
            f"{unit} ? {scale} + 68 : 0",
            grid.foot,
            color=ink,
            shown=unit,
        ),
    ]
    legend = drawn_ramp(words.cell, scale, grid.foot, colour=colour, ink=ink)
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
        alt.layer(cells, frames, numbers, *texts, *legend, marks)
        .add_params(*grid.sizes())
        .properties(height=height, padding={"left": 0, "top": 0, "right": 8, "bottom": 0})
    )


def _note(names: Sequence[Mapping[str, object]], grid: Grid, keys: int, colour: str) -> alt.Chart:
    """Over every head, where a causal mask leaves room, that the pale rows are not trained."""
    rows = [{**name, "name": "pale rows:\nnot trained"} for name in names]
    return _text(
        _data(rows),
        "name",
        grid.x(str(keys + 1)),
        grid.y("0"),
        align="right",
        baseline="top",
        color=colour,
        fontSize=11,
        shown=f"cell >= {_LABEL}",
    )


def _span(axis: str, start: str, end: str) -> Mapping[str, alt.ExprRef]:
    return {axis: alt.ExprRef(start), f"{axis}2": alt.ExprRef(end)}


def _data(rows: Sequence[Mapping[str, object]]) -> alt.Chart:
    return alt.Chart(alt.InlineData(list(rows)))


def _text(
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
