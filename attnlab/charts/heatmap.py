"""Heatmaps with a cell for each value, and their parts; maps of all heads are in `heads`."""

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from attnlab.charts.drawing import Chart, Rows, drawn_once, sized
from attnlab.charts.style import GROUND, HUES, INK, SHARES, Ramp

Channel = TypeVar("Channel", alt.X, alt.Y)
# Maps with longer sides are drawn as blocks of cells: browsers take seconds for tens of thousands.
_MOST_A_SIDE = 72
# Pixels of a chart of square cells: its longer side, which fits a panel on a phone, and its
# largest cells.
_SQUARE_SIDE, _MOST_CELL = 240, 40
# Maximum number of labels on an axis; on a phone more would overlap.
_MOST_LABELS = 20
# If labels are closer than this many pixels, as on a phone, every other label is dropped.
PIXELS_APART = 3


def tip(field: str, title: str | None = None, form: str | None = None) -> alt.Tooltip:
    """Return a line of a tooltip."""
    title_given = alt.Undefined if title is None else title
    return alt.Tooltip(field, title=title_given, format=alt.Undefined if form is None else form)


def side(
    channel: type[Channel],
    field: str,
    title: str | None,
    places: Sequence[Any],
    *,
    names: Sequence[Any] | None = None,
    colour: str | None = None,
    **axis: Any,
) -> Channel:
    """Return an axis of cells for the column `field`, with the values in `places` as steps.

    Args:
        channel: `alt.X` or `alt.Y`.
        field: A column of the table.
        title: The title of the axis.
        places: The values of the column, from the left or the top.
        names: Labels of the values, if not the values themselves.
        colour: The colour of the title.
        **axis: As in `alt.Axis`.
    """
    places = list(places)
    look = {
        "values": places[:: -(-len(places) // _MOST_LABELS)],
        "labelAngle": 0,
        "labelOverlap": "parity",
        "labelSeparation": PIXELS_APART if channel is alt.X else 0,
        "ticks": False,
        "domain": False,
    }
    if names is not None:
        texts, at = (json.dumps(list(each), ensure_ascii=False) for each in (names, places))
        look["labelExpr"] = f"{texts}[indexof({at}, datum.value)]"
    if colour is not None:
        look["titleColor"] = colour
    # Cells start exactly at the axis. By default they are centred: a rounding error could put the
    # first cell before the axis, and Vega would not label it.
    scale = alt.Scale(domain=places, align=0)
    return channel(f"{field}:O", title=title, scale=scale, axis=alt.Axis(**look | axis))


def days_side(
    channel: type[Channel],
    field: str,
    title: str | None,
    days: Sequence[int],
    symbols: Sequence[str] | None,
    *,
    colour: str,
    **axis: Any,
) -> Channel:
    """Return an axis of positions, labelled by number and, for a single sequence, by token."""
    names = None
    if symbols is not None:
        pairs = [(symbols[day - 1], str(day)) for day in days]
        names = pairs if channel is alt.X else [f"{day}  {symbol}" for symbol, day in pairs]
    return side(channel, field, title, days, names=names, colour=colour, **axis)


def shade(
    field: str,
    title: str | None,
    ramp: Ramp,
    domain: tuple[float, float] | None,
    *,
    values: Sequence[float] | None = None,
    form: str = ".3~g",
    length: int = 100,
    legend: bool = True,
    **scale: Any,
) -> alt.Color:
    """Return the colours of cells, on a fixed `domain` or, for None, around 0 to fit the data.

    The legend is a bar of `length` pixels above the chart. Its labels are `values`, by default the
    ends and the middle of the domain.
    """
    ends = {"domainMid": 0} if domain is None else {"domain": list(domain)}
    if domain is not None and values is None:
        values = [domain[0], sum(domain) / 2, domain[1]]
    return alt.Color(
        f"{field}:Q",
        title=title,
        # The default, interpolation by hue, would fade orange through red.
        scale=alt.Scale(range=list(ramp), clamp=True, interpolate="rgb", **ends, **scale),
        legend=ramp_legend(length=length, form=form, values=values) if legend else None,
    )


def ramp_legend(
    *, length: int = 100, form: str = "", values: Sequence[float] | None = None, **more: Any
) -> alt.Legend:
    """Return a colour bar of `length` pixels above the chart, to the right of its title."""
    return alt.Legend(
        orient="top",
        direction="horizontal",
        titleOrient="left",
        titleLimit=180,
        gradientLength=length,
        gradientThickness=10,
        format=form,
        **({} if values is None else {"values": list(values)}),
        **more,
    )


def heatmap(
    table: Rows,
    *,
    x: alt.X,
    y: alt.Y,
    colour: alt.Color | Mapping[str, alt.Color],
    tooltip: Sequence[alt.Tooltip],
    number: alt.Text | None = None,
    strong: str = "",
    frames: Sequence[tuple[str, Mapping[str, Any]]] = (),
    **look: Any,
) -> Chart:
    """Return coloured cells and, if given, numbers inside and frames around some of them.

    Args:
        table: One row per cell. A cell without a value is not drawn.
        x: The columns, as returned by `side`.
        y: The rows, as returned by `side`.
        colour: The colours, as returned by `shade`; or several, each with a Vega expression that is
            true for its cells.
        tooltip: The lines of the tooltip.
        number: The text in the cells.
        strong: A Vega expression that is true for cells so dark that they need light text.
        frames: Vega expressions that are true for framed cells, each with the style of the frame.
        **look: The style of the numbers.
    """
    base = alt.Chart(table).encode(x=x, y=y, tooltip=list(tooltip))
    if isinstance(colour, Mapping):
        layers = [
            base.transform_filter(wanted).mark_rect().encode(color=each)
            for wanted, each in colour.items()
        ]
    else:
        layers = [base.mark_rect().encode(color=colour)]
    if number is not None:
        ink = alt.condition(strong, alt.value(GROUND), alt.value(INK))
        layers.append(base.mark_text(**{"fontSize": 12, **look}).encode(text=number, color=ink))
    for wanted, frame in frames:
        layers.append(base.transform_filter(wanted).mark_rect(fill=None, **frame))
    return alt.layer(*layers) if len(layers) > 1 else layers[0]


def in_squares(chart: Chart, rows: int, columns: int, *, most: int = _MOST_CELL) -> Chart:
    """Return a heatmap with square cells of at most `most` pixels, of the same size everywhere."""
    cell = max(1, min(most, _SQUARE_SIDE // max(rows, columns)))
    return sized(chart, cell * columns, cell * rows)


def top_of_scale(*values: Float[np.ndarray, "..."]) -> float:
    """Return the smallest of 0.01, 0.03, 0.1, 0.3, 1, 3 … that no absolute value exceeds.

    With so few possible ends, different maps often share a scale, and a live map rarely changes it.
    """
    most = max((float(np.abs(each).max()) for each in values if each.size), default=0.0)
    ends = (step * 10.0**power for power in itertools.count(-2) for step in (1.0, 3.0))
    # A fraction may be slightly larger than 1, by rounding.
    return round(next(end for end in ends if most <= end * (1 + 1e-6)), 2)


def block_of(side: int, most: int = _MOST_A_SIDE) -> int:
    """Return how many cells a block has on a side, so that at most `most` blocks are drawn."""
    return -(-side // most)


def strongest_of_blocks(
    values: Float[np.ndarray, "query key"],
    seen: Bool[np.ndarray, "query key"],
    *more: Float[np.ndarray, "query key"],
    most: int = _MOST_A_SIDE,
) -> list[np.ndarray]:
    """Return all arrays reduced to blocks, with the entry of the block's strongest cell.

    That is the cell with the largest absolute value among those that are `seen`. A side has at most
    `most` blocks.
    """
    rows, columns = (block_of(side, most) for side in values.shape)
    size = -(-values.shape[0] // rows), rows, -(-values.shape[1] // columns), columns
    space = [(0, size[0] * rows - values.shape[0]), (0, size[2] * columns - values.shape[1])]

    def in_blocks(array: np.ndarray) -> np.ndarray:
        return np.pad(array, space).reshape(size).swapaxes(1, 2).reshape(*size[::2], -1)

    largest = in_blocks(np.where(seen, np.abs(values), -1.0) + 1).argmax(axis=2)[..., None]
    each = (in_blocks(array) for array in (values, seen, *more))
    return [np.take_along_axis(array, largest, axis=2)[..., 0] for array in each]


def map_table(
    values: Float[np.ndarray, "query key"],
    *,
    seen: Bool[np.ndarray, "query key"] | None = None,
    stderr: Float[np.ndarray, "query key"] | None = None,
    symbols: Sequence[str] | None = None,
    first_query: int = 1,
) -> pd.DataFrame:
    """Return a table with one row per cell of `seen`; queries and keys count from 1.

    Long sequences have one row per block of cells.

    Args:
        values: The value of each query and key.
        seen: The cells to draw, by default the keys up to the query.
        stderr: Standard errors of the values.
        symbols: The tokens of the positions, for a single sequence.
        first_query: The position of the first row.
    """
    if seen is None:
        seen = np.tri(values.shape[0], values.shape[1], first_query - 1, dtype=bool)
    rows, columns = map(block_of, values.shape)
    days = range(1, first_query + max(values.shape))
    names = np.array([str(day) for day in days])
    if symbols is not None:
        names = np.array([f"{day} {symbol}" for day, symbol in zip(days, symbols, strict=False)])
    # Without errors, any array serves as a placeholder.
    errors = values if stderr is None else stderr
    values, shown, errors = strongest_of_blocks(values, seen, errors)
    query, key = np.nonzero(shown)
    first_row, first_column = rows * query + first_query - 1, columns * key
    return pd.DataFrame(
        {
            "query": first_row + 1,
            "key": first_column + 1,
            "value": values[query, key].astype(float),
            "query_name": _names_of_blocks(names, first_row, rows),
            "key_name": _names_of_blocks(names, first_column, columns),
            **({} if stderr is None else {"error": errors[query, key]}),
        }
    )


def _names_of_blocks(names: np.ndarray, first: np.ndarray, block: int) -> np.ndarray:
    if block == 1:
        return names[first]
    last = np.minimum(first + block, len(names)) - 1
    return np.array(
        [f"{names[one]} to {names[other]}" for one, other in zip(first, last, strict=True)]
    )


@drawn_once
def map_chart(
    table: Rows,
    *,
    length: int,
    title: str,
    domain: tuple[float, float] = (0.0, 1.0),
    ramp: Ramp = SHARES,
    titles: tuple[str, str],
    symbols: tuple[str, ...] | None = None,
    queries: tuple[int, ...] | None = None,
    keys: tuple[int, ...] | None = None,
    errors: bool = False,
    form: str = ".3f",
    word: str = "day",
    clicked: str | None = None,
) -> Chart:
    """Draw a map of values by query (rows) and key (columns), in squares, on a fixed scale.

    Args:
        table: As returned by `map_table`.
        length: The number of positions.
        title: What a cell means.
        domain: The ends of the colour scale.
        ramp: The colours: `SHARES` for a model, `TRUTHS` for known quantities, or `SIGNED`.
        titles: The titles of keys and queries.
        symbols: The tokens of the positions, for a single sequence.
        queries: The positions of the rows, if not all.
        keys: The positions of the columns, if not all.
        errors: Whether the table has standard errors.
        form: The format of the value in the tooltip.
        word: The noun for a position.
        clicked: The name of the selection that a click on a cell sets.
    """
    days = range(1, length + 1)
    across, down = (each[:: block_of(len(each))] for each in (keys or days, queries or days))
    tooltip = [
        tip("query_name:N", f"query {word}"),
        tip("key_name:N", f"key {word}"),
        tip("value:Q", title, form),
        *([tip("error:Q", "± standard error", ".4f")] * errors),
    ]
    chart = heatmap(
        table,
        x=days_side(alt.X, "key", titles[0], across, symbols, colour=HUES.key),
        y=days_side(alt.Y, "query", titles[1], down, symbols, colour=HUES.query),
        colour=shade("value", title, ramp, domain, length=72),
        tooltip=tooltip,
    )
    if clicked is not None:
        chart = chart.add_params(alt.selection_point(name=clicked, fields=["query", "key"]))
    return in_squares(chart, len(down), len(across))
