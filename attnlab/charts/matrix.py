"""Small heatmaps with numbers in their cells: matrices, and attention between tokens."""

from collections.abc import Sequence
from typing import NamedTuple

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from attnlab.charts.drawing import Chart, Rows, drawn_once
from attnlab.charts.heatmap import heatmap, shade, side, tip
from attnlab.charts.style import HUES, SHARES, TRUTHS, Ramp

# Heights in pixels: of a row, and of the space around the cells.
_ROW, _AROUND = 32, 70
_MOST_NUMBERS = 16
# Text in the cells of a matrix: normal size, smallest size (smaller text is left out), and ratio of
# character width to size, including some margin.
_LETTER, _SMALLEST_LETTER, _LETTER_WIDTH = 13, 7, 0.62


def token_map_table(
    shares: Float[np.ndarray, "query key"],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    seen: Bool[np.ndarray, "query key"] | None = None,
    framed: Bool[np.ndarray, "query key"] | None = None,
) -> pd.DataFrame:
    """Return a table with one row per cell of `seen`, by default all; `framed` cells are marked."""
    seen = np.ones(shares.shape, bool) if seen is None else seen
    framed = np.zeros(shares.shape, bool) if framed is None else framed
    row, column = np.nonzero(seen)
    values = shares[row, column].astype(float)
    return pd.DataFrame(
        {
            "row": row + 1,
            "column": column + 1,
            "share": values,
            "text": [f"{value:.0f}" if value in (0, 1) else f"{value:.2f}" for value in values],
            "framed": framed[row, column],
            "query": [f"{at + 1} {rows[at]}" for at in row.tolist()],
            "key": [f"{at + 1} {columns[at]}" for at in column.tolist()],
        }
    )


@drawn_once
def token_map_chart(
    table: Rows,
    *,
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    titles: tuple[str, str],
    known: bool,
    meaning: str,
) -> Chart:
    """Draw fractions as colours and numbers, with tokens along both axes and some cells framed.

    `titles` are those of columns and rows. With `known` the map is the truth, drawn in grey.
    """
    across, down = range(1, len(columns) + 1), range(1, len(rows) + 1)
    return heatmap(
        table,
        x=side(alt.X, "column", titles[0], across, names=columns, colour=HUES.key),
        y=side(alt.Y, "row", titles[1], down, names=rows, colour=HUES.query),
        colour=shade("share", None, TRUTHS if known else SHARES, (0, 1), legend=False),
        tooltip=[
            tip("query:N", titles[1].strip("← ")),
            tip("key:N", titles[0].strip(" →")),
            tip("share:Q", meaning, ".3f"),
        ],
        number=alt.Text("text:N"),
        strong="datum.share > 0.5",
        frames=[("datum.framed", {"stroke": HUES.truth, "strokeWidth": 2, "strokeDash": [4, 2]})],
    ).properties(height=_ROW * len(rows) + _AROUND)


class Lit(NamedTuple):
    """A frame around a row, a column or a single cell of a matrix, with its colour."""

    colour: str
    row: int | None = None
    column: int | None = None


def matrix_table(values: Float[np.ndarray, "rows columns"]) -> pd.DataFrame:
    """Return a table with one row per entry, with row and column from 1.

    `longest` is the length of the longest text, from which the text size follows.
    """
    row, column = (index.ravel() for index in np.indices(values.shape))
    numbers = values.astype(float).ravel()
    texts = [_written(number) for number in numbers]
    return pd.DataFrame(
        {
            "row": row + 1,
            "column": column + 1,
            "value": np.where(np.isfinite(numbers), numbers, np.nan),
            "text": texts,
            "longest": max(map(len, texts)),
        }
    )


def _written(number: float) -> str:
    if np.isneginf(number):
        return "-∞"
    if number == 0:
        return "0"
    # Three significant digits, but no exponent for large numbers.
    return f"{number:.3g}" if abs(number) < 1000 else f"{number:.0f}"


@drawn_once
def matrix_chart(
    table: Rows,
    *,
    shape: tuple[int, int],
    row_title: str,
    column_title: str,
    domain: tuple[float, float],
    ramp: Ramp,
    row_colour: str | None = None,
    column_colour: str | None = None,
    lit: tuple[Lit, ...] = (),
    meaning: str = "value",
) -> Chart:
    """Draw a matrix as a heatmap, with numbers if there is room, and with frames.

    Args:
        table: As returned by `matrix_table`.
        shape: The shape of the matrix.
        row_title: The title of the row axis.
        column_title: The title of the column axis.
        domain: The values at the ends of the colour scale.
        ramp: The colours.
        row_colour: The colour of the row title.
        column_colour: The colour of the column title.
        lit: The frames.
        meaning: What an entry means, for the tooltip.
    """
    rows, columns = (range(1, count + 1) for count in shape)
    low, high = domain
    # Cells with strong colours: at both ends of a signed scale, at the upper end of fractions.
    strong = f"abs(datum.value) > {0.6 * high}"
    if low >= 0:
        strong = f"datum.value > {low + 0.5 * (high - low)}"
    letter = f"min({_LETTER}, width / ({shape[1] * _LETTER_WIDTH} * datum.longest))"
    frames = []
    for one in lit:
        places = (("row", one.row), ("column", one.column))
        wanted = " && ".join(f"datum.{name} === {at}" for name, at in places if at)
        frames.append((wanted, {"stroke": one.colour, "strokeWidth": 2.5}))
    return heatmap(
        table,
        x=side(alt.X, "column", column_title, columns, colour=column_colour or HUES.truth),
        y=side(alt.Y, "row", row_title, rows, colour=row_colour or HUES.truth),
        colour=shade("value", None, ramp, domain, legend=False),
        tooltip=[
            tip("row:O", row_title.strip("← ")),
            tip("column:O", column_title.strip(" →")),
            tip("value:Q", meaning, ".6~g"),
        ],
        number=alt.Text("text:N") if max(shape) <= _MOST_NUMBERS else None,
        strong=f"isValid(datum.value) && {strong}",
        frames=frames,
        fontSize=alt.ExprRef(letter),
        fillOpacity=alt.ExprRef(f"{letter} < {_SMALLEST_LETTER} ? 0 : 1"),
    ).properties(height=_ROW * len(rows) + _AROUND)
