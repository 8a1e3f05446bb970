"""The axes of charts from day to day: days by their number and token, queries down, keys across."""

import json
from collections.abc import Sequence

import altair as alt

# More labels than this would overlap at the width of a phone.
_MOST_LABELS = 20


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
        "labelOverlap": False,
    }
    if symbols is None:
        return alt.Axis(**common)
    symbol = f"{json.dumps(list(symbols), ensure_ascii=False)}[datum.value - 1]"
    label = f"[{symbol}, '' + datum.value]" if upright else f"datum.value + '  ' + {symbol}"
    return alt.Axis(labelExpr=label, **common)
