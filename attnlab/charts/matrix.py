"""Small heatmaps with numbers in their cells: matrices, and attention between tokens."""

from typing import NamedTuple

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Bool, Num

from attnlab.charts.drawing import Chart, Drawing, Rows, drawn_once
from attnlab.charts.heatmap import heatmap, in_squares, shade, side, tip
from attnlab.charts.style import HUES, INK, SHARES, SIGNED, Ramp

# Heights in pixels: of a row, and of the space around the cells.
_ROW, _AROUND = 32, 70
_MOST_NUMBERS = 16
# Text in the cells of a matrix: normal size, smallest size (smaller text is left out), and ratio of
# character width to size, including some margin.
_LETTER, _SMALLEST_LETTER, _LETTER_WIDTH = 13, 7, 0.62


# The colours of titles that contain these words.
_HUES = {"query": HUES.query, "key": HUES.key, "value": HUES.value, "source": HUES.key}


class Matrix(NamedTuple):
    """A matrix to draw.

    Attributes:
        title: Its name.
        values: The matrix.
        rows: Title of the rows. Titles that contain `query`, `key`, `value` or `source` have fixed
            colours.
        columns: Title of the columns.
        row: The framed row, from 1.
        column: The framed column, from 1.
        makes: For a weight matrix: "query", "key" or "value", for the colour of its columns.
        shares: Whether the values are fractions from 0 to 1.
    """

    title: str
    values: Num[np.ndarray, "rows columns"]
    rows: str
    columns: str
    row: int | None = None
    column: int | None = None
    makes: str = ""
    shares: bool = False


def matrix_chart(
    matrix: Matrix,
    *,
    names: tuple[tuple[str, ...], tuple[str, ...]] | None = None,
    seen: Bool[np.ndarray, "rows columns"] | None = None,
    framed: Bool[np.ndarray, "rows columns"] | None = None,
    largest: float | None = None,
    ramp: Ramp | None = None,
    meaning: str = "value",
    square: bool = False,
    height: int | None = None,
) -> Drawing:
    """Draw a matrix as a heatmap, with numbers if there is room, and with frames.

    Args:
        matrix: The matrix.
        names: The tokens of the rows and of the columns, if they have any. The numbers then have
            two decimals.
        seen: The entries to draw, by default all.
        framed: The entries with a dashed frame, by default none.
        largest: The value with the strongest colour; by default the largest value.
        ramp: The colours, by default those of shares or of signed numbers.
        meaning: What an entry means, for the tooltip.
        square: Whether cells are square; otherwise the chart is as wide as its container.
        height: The height in pixels, if cells are not square.
    """
    values = matrix.values
    row, column = np.nonzero(np.ones(values.shape) if seen is None else seen)
    numbers = values[row, column].astype(float)
    texts = [_written(number) if names is None else _rounded(number) for number in numbers]
    symbols = names or ([""] * values.shape[0], [""] * values.shape[1])
    row_name, column_name = (
        [f"{place + 1} {of[place]}".strip() for place in at.tolist()]
        for at, of in zip((row, column), symbols, strict=True)
    )
    table = pd.DataFrame(
        {
            "row": row + 1,
            "column": column + 1,
            "row_name": row_name,
            "column_name": column_name,
            "value": np.where(np.isfinite(numbers), numbers, np.nan),
            "text": texts,
            # The size of the text follows from it.
            "longest": max(map(len, texts)),
            "framed": False if framed is None else framed[row, column],
        }
    )
    if largest is None:
        largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0
    of_row, of_column = (
        next((hue for word, hue in _HUES.items() if word in title), INK)
        for title in (matrix.rows, matrix.makes or matrix.columns)
    )
    frames = [(f"datum.row === {matrix.row}", of_row)] * bool(matrix.row)
    frames += [(f"datum.column === {matrix.column}", of_column)] * bool(matrix.column)
    return _draw_cells(
        table,
        shape=values.shape,
        titles=(f"← {matrix.rows}" if matrix.rows else "row", f"{matrix.columns} →"),
        hues=tuple(HUES.truth if hue == INK else hue for hue in (of_row, of_column)),
        names=names or ((), ()),
        domain=(0.0, 1.0) if matrix.shares else (-largest, largest),
        ramp=ramp or (SHARES if matrix.shares else SIGNED),
        meaning=meaning,
        frames=tuple(frames),
        square=square,
        height=height,
    )


def _rounded(number: float) -> str:
    return f"{number:.0f}" if number in (0, 1) else f"{number:.2f}"


def _written(number: float) -> str:
    if np.isneginf(number):
        return "-∞"
    if number == 0:
        return "0"
    # Three significant digits, but no exponent for large numbers.
    return f"{number:.3g}" if abs(number) < 1000 else f"{number:.0f}"


@drawn_once
def _draw_cells(
    table: Rows,
    *,
    shape: tuple[int, int],
    titles: tuple[str, str],
    hues: tuple[str, str],
    names: tuple[tuple[str, ...], tuple[str, ...]],
    domain: tuple[float, float],
    ramp: Ramp,
    meaning: str,
    frames: tuple[tuple[str, str], ...],
    square: bool,
) -> Chart:
    rows, columns = (range(1, count + 1) for count in shape)
    low, high = domain
    # Cells with strong colours: at both ends of a signed scale, at the upper end of fractions.
    strong = f"abs(datum.value) > {0.6 * high}"
    if low >= 0:
        strong = f"datum.value > {low + 0.5 * (high - low)}"
    letter = f"min({_LETTER}, width / ({shape[1] * _LETTER_WIDTH} * datum.longest))"
    dashed = {"stroke": HUES.truth, "strokeWidth": 2, "strokeDash": [4, 2]}
    (row_names, column_names), (row_hue, column_hue) = names, hues
    cells = heatmap(
        table,
        x=side(alt.X, "column", titles[1], columns, names=column_names or None, colour=column_hue),
        y=side(alt.Y, "row", titles[0], rows, names=row_names or None, colour=row_hue),
        colour=shade("value", None, ramp, domain, legend=False),
        tooltip=[
            tip("row_name:N", titles[0].strip("← ")),
            tip("column_name:N", titles[1].strip(" →")),
            tip("value:Q", meaning, ".6~g"),
        ],
        number=alt.Text("text:N") if max(shape) <= _MOST_NUMBERS else None,
        strong=f"isValid(datum.value) && {strong}",
        frames=[("datum.framed", dashed)] * bool(names[0])
        + [(wanted, {"stroke": hue, "strokeWidth": 2.5}) for wanted, hue in frames],
        fontSize=alt.ExprRef(letter),
        fillOpacity=alt.ExprRef(f"{letter} < {_SMALLEST_LETTER} ? 0 : 1"),
    )
    if square:
        return in_squares(cells, *shape)
    return cells.properties(height=_ROW * len(rows) + _AROUND)
