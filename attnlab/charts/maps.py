"""Maps of query against key, where a block of cells of a long sequence is one cell."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from attnlab.charts.drawing import Drawing
from attnlab.charts.heatmap import MOST_CELL, Shade, Side, cells_table, heatmap_chart
from attnlab.charts.style import HUES, SHARES, Ramp

# Maps with longer sides are drawn as blocks of cells: browsers take seconds for tens of thousands.
_MOST_A_SIDE = 72


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


def position_names(
    places: Sequence[int], symbols: Sequence[str] | None, *, across: bool = True
) -> tuple[Any, ...] | None:
    """Return labels with the token and the number of each position, or None without tokens."""
    if symbols is None:
        return None
    if across:
        return tuple((symbols[place - 1], str(place)) for place in places)
    return tuple(f"{place}  {symbols[place - 1]}" for place in places)


def map_chart(
    values: Float[np.ndarray, "query key"],
    *,
    title: str,
    titles: tuple[str, str],
    seen: Bool[np.ndarray, "query key"] | None = None,
    stderr: Float[np.ndarray, "query key"] | None = None,
    first_query: int = 1,
    domain: tuple[float, float] = (0.0, 1.0),
    ramp: Ramp = SHARES,
    symbols: tuple[str, ...] | None = None,
    queries: tuple[int, ...] | None = None,
    keys: tuple[int, ...] | None = None,
    form: str = ".3f",
    word: str = "day",
    clicked: str | None = None,
    trained_from: int = 1,
) -> Drawing:
    """Draw a map of values by query (rows) and key (columns), in squares, on a fixed scale.

    Long sequences have one cell per block of cells.

    Args:
        values: The value of each query and key.
        title: What a cell means.
        titles: The titles of keys and queries.
        seen: The cells to draw, by default the keys up to the query.
        stderr: Standard errors of the values.
        first_query: The position of the first row, from 1.
        domain: The ends of the colour scale.
        ramp: The colours: `SHARES` for a model, `TRUTHS` for known quantities, or `SIGNED`.
        symbols: The tokens of the positions, for a single sequence.
        queries: The positions of the rows, if not all.
        keys: The positions of the columns, if not all.
        form: The format of the value in the tooltip.
        word: The noun for a position.
        clicked: The name of the selection that a click on a cell sets.
        trained_from: The first query whose row is trained; earlier rows are faded.
    """
    if seen is None:
        seen = np.tri(len(values), values.shape[1], first_query - 1, dtype=bool)
    rows = range(first_query, first_query + len(values), block_of(len(values)))
    columns = range(1, values.shape[1] + 1, block_of(values.shape[1]))
    # Without errors, any array serves as a placeholder.
    each = strongest_of_blocks(values, seen, values if stderr is None else stderr)
    strongest, shown, errors = each
    table = cells_table(
        ("query", rows), ("key", columns), seen=shown, value=strongest.astype(float), error=errors
    )
    last = first_query - 1 + max(values.shape)

    def name(first: int, block: int) -> str:
        ends = dict.fromkeys((first, min(first + block - 1, last)))
        return " to ".join(f"{day} {symbols[day - 1]}" if symbols else f"{day}" for day in ends)

    table["query_name"] = [name(place, rows.step) for place in table["query"]]
    table["key_name"] = [name(place, columns.step) for place in table["key"]]
    across, down = (
        places[:: block_of(len(places))]
        for places in (tuple(each or range(1, values.shape[1] + 1)) for each in (keys, queries))
    )
    tips = (
        ("query_name", f"query {word}", ""),
        ("key_name", f"key {word}", ""),
        ("value", title, form),
        ("error", "± standard error", ".4f"),
    )
    return heatmap_chart(
        table if stderr is not None else table.drop(columns="error"),
        x=Side("key", titles[0], across, position_names(across, symbols), HUES.key),
        y=Side("query", titles[1], down, position_names(down, symbols, across=False), HUES.query),
        shades=(Shade(title, ramp, domain, length=72),),
        tips=tips if stderr is not None else tips[:-1],
        most_cell=MOST_CELL,
        clicked=clicked,
        faded="" if trained_from == 1 else f"datum.query + {rows.step} <= {trained_from}",
    )
