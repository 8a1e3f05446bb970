"""Small maps with numbers in their cells: matrices, and shares from token to token."""

from collections.abc import Sequence
from typing import NamedTuple

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from attnlab.charts.drawing import Rows, drawn_once
from attnlab.charts.heatmap import heatmap, shade, side, tip
from attnlab.charts.style import HUES, SHARES, TRUTHS, Ramp

# Pixels of a row, and of the space around the cells.
_ROW, _AROUND = 32, 70
_MOST_NUMBERS = 16
# Text size in the cells of a matrix: normal, smallest readable, and character width per height,
# with a share of the margin. Smaller text is left out.
_LETTER, _SMALLEST_LETTER, _LETTER_WIDTH = 13, 7, 0.62


def token_map_table(
    shares: Float[np.ndarray, "query key"],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    seen: Bool[np.ndarray, "query key"] | None = None,
    framed: Bool[np.ndarray, "query key"] | None = None,
) -> pd.DataFrame:
    """Return a row for each cell that may be `seen`, with its tokens; `framed` ones get a frame."""
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
            "query": [f"{at + 1} {rows[at]}" for at in row],
            "key": [f"{at + 1} {columns[at]}" for at in column],
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
) -> alt.LayerChart:
    """Draw shares from 0 to 1 as colour and number, tokens along both axes, true cells framed.

    `titles` are those of columns and rows; maps in `known` are the truth, in grey.
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
    """The framed row, column or single cell of a matrix, and the colour of the frame."""

    colour: str
    row: int | None = None
    column: int | None = None


def matrix_table(values: Float[np.ndarray, "rows columns"]) -> pd.DataFrame:
    """Return a row for each number, with its text and the length of the longest text.

    Rows and columns count from 1.
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
    # Three digits, and no exponent if a few zeros suffice.
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
) -> alt.Chart | alt.LayerChart:
    """Draw a matrix, with numbers if there is room and with its `lit` cells framed.

    Args:
        table: As returned by `matrix_table`.
        shape: The shape of the matrix.
        row_title: The title of the rows, which go downwards.
        column_title: The title of the columns.
        domain: The ends of the colours.
        ramp: The colours.
        row_colour: The colour of the title of the rows.
        column_colour: The colour of the title of the columns.
        lit: The frames.
        meaning: The meaning of a number.
    """
    rows, columns = (range(1, count + 1) for count in shape)
    low, high = domain
    # A signed scale is strong at both ends, one of shares at its upper end.
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
