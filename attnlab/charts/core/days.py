"""Axes of days, by their number and token, and the cells of a map: queries down, keys across."""

import json
from collections.abc import Sequence

import altair as alt

from attnlab.charts.core.colours import hues
from attnlab.charts.core.drawing import Rows
from attnlab.charts.core.scale import cell_scale

# More labels than this would overlap at the width of a phone.
_MOST_LABELS = 20
# Between labels side by side. Where there is less, as on a phone, every other one is left out.
_PIXELS_APART = 3


def day_axis(
    days: Sequence[int], symbols: Sequence[str] | None, colour: str, *, upright: bool
) -> alt.Axis:
    """Days by their number and, for a single sequence, their token."""
    every = -(-len(days) // _MOST_LABELS)
    shown = [day for day in days if (day - 1) % every == 0]
    common = {
        "values": shown,
        "labelAngle": 0,
        "titleColor": colour,
        "ticks": False,
        "domain": False,
        "labelOverlap": "parity",
        "labelSeparation": _PIXELS_APART if upright else 0,
    }
    if symbols is None:
        return alt.Axis(**common)
    symbol = f"{json.dumps(list(symbols), ensure_ascii=False)}[datum.value - 1]"
    label = f"[{symbol}, '' + datum.value]" if upright else f"datum.value + '  ' + {symbol}"
    return alt.Axis(labelExpr=label, **common)


def query_key_cells(
    table: Rows,
    *,
    queries: Sequence[int],
    keys: Sequence[int],
    titles: tuple[str, str],
    dark: bool,
    height: int,
    symbols: Sequence[str] | None = None,
) -> alt.Chart:
    """A cell for each `query` and `key` of the table, whose colour the caller encodes.

    `queries` and `keys` are the days of the rows and columns, `titles` those of keys and queries;
    `symbols` are the tokens of the days of a single sequence.
    """
    hue = hues(dark=dark)
    return (
        alt.Chart(table, padding={"right": 16})
        .mark_rect(aria=False)
        .encode(
            x=alt.X(
                "key:O",
                title=titles[0],
                scale=cell_scale(keys),
                axis=day_axis(keys, symbols, hue.key, upright=True),
            ),
            y=alt.Y(
                "query:O",
                title=titles[1],
                scale=cell_scale(queries),
                axis=day_axis(queries, symbols, hue.query, upright=False),
            ),
        )
        .properties(height=height)
    )
