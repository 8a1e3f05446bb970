"""The patterns of several heads side by side, with square cells as large as their place allows."""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from attnlab.charts.core.colours import hues, share_ramp
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.runs.heads_grid import READ_HEIGHT, TOP, Grid, top_of

# Of cells narrower than this not every one has its day beside it, or its number in it.
_LABEL, _NUMBER = 17, 22
# How strong the rows are that have no part in the loss.
_UNTRAINED = 0.35


def heads_table(
    patterns: Float[np.ndarray, "heads query key"],
    unmasked: Bool[np.ndarray, "query key"],
    *,
    heads: Sequence[int],
    read: int,
    trained: bool,
    symbols: Sequence[str] | None = None,
) -> pd.DataFrame:
    """A row for every unmasked cell of the `heads`, which count from 0; days count from 1.

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
                "head": str(head + 1),
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
        for place, head in enumerate(heads)
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
    heads: tuple[int, ...],
    shape: tuple[int, int],
    read: int,
    trained: bool,
    symbols: tuple[str, ...] | None,
    dark: bool,
    height: int,
) -> alt.LayerChart:
    """Share of each query's attention that each key gets, from 0 to 1, for each of the `heads`.

    As many heads stand in a row as make the cells largest; `shape` counts queries and keys. The
    row that makes the prediction is framed; a triangle stands over each truly informative day.
    Only the tables may change while one sequence is watched.
    """
    (_, keys), hue, grid = shape, hues(dark=dark), Grid(len(heads), shape, read, symbols)
    colour = alt.Color(
        "share:Q",
        scale=alt.Scale(domain=[0, 1], range=list(share_ramp(dark=dark)), clamp=True),
        legend=None,
    )
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
            tooltip=[
                alt.Tooltip("head:N"),
                alt.Tooltip("query_day:N", title="query"),
                alt.Tooltip("key_day:N", title="key"),
                alt.Tooltip("share:Q", title="share of attention", format=".3f"),
            ],
        )
    )
    names = [{"place": place, "name": f"head {head + 1}"} for place, head in enumerate(heads)]
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
    )
    seldom = f"ceil({_LABEL} / cell)"
    words = [
        _text(_data(names), "name", grid.x("1"), f"{grid.y('0')} - 24", fontWeight="bold"),
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
            _data([{"name": "key: day attended to"}]),
            "name",
            f"{grid.left}",
            grid.foot,
            color=hue.key,
        ),
        _text(
            _data([{"name": "share of attention  0"}]),
            "name",
            f"{grid.left + 248}",
            grid.foot,
            align="right",
        ),
        *([] if trained else [_note(names, grid, keys, hue.truth)]),
        _text(_data([{"name": "1"}]), "name", f"{grid.left + 258 + 80}", grid.foot),
    ]
    legend = (
        _data([{"share": step / 20, "step": step} for step in range(21)])
        .mark_rect(
            aria=False,
            **_span(
                "x", f"{grid.left + 254} + datum.step * 4", f"{grid.left + 258} + datum.step * 4"
            ),
            **_span("y", f"{grid.foot} - 5", f"{grid.foot} + 5"),
        )
        .encode(color=colour)
    )
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
        alt.layer(cells, frames, numbers, *words, legend, marks)
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
    align: str = "left",
    baseline: str = "middle",
    shown: str = "true",
    **look: object,
) -> alt.Chart:
    return chart.mark_text(
        aria=False,
        align=align,
        baseline=baseline,
        lineBreak="\n",
        opacity=alt.ExprRef(f"{shown} ? 1 : 0"),
        x=alt.ExprRef(x),
        y=alt.ExprRef(y),
        **look,
    ).encode(text=f"{field}:N")
