"""Small heatmaps with numbers in their cells: matrices, and attention between tokens."""

from collections.abc import Sequence
from typing import NamedTuple

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Bool, Num

from attnlab.charts.drawing import Chart, Rows, drawn_once
from attnlab.charts.heatmap import heatmap, in_squares, shade, side, tip
from attnlab.charts.style import HUES, Ramp

# Heights in pixels: of a row, and of the space around the cells.
_ROW, _AROUND = 32, 70
_MOST_NUMBERS = 16
# Text in the cells of a matrix: normal size, smallest size (smaller text is left out), and ratio of
# character width to size, including some margin.
_LETTER, _SMALLEST_LETTER, _LETTER_WIDTH = 13, 7, 0.62


class Lit(NamedTuple):
    """A frame around a row, a column or a single cell of a matrix, with its colour."""

    colour: str
    row: int | None = None
    column: int | None = None


def matrix_table(
    values: Num[np.ndarray, "rows columns"],
    *,
    names: tuple[Sequence[str], Sequence[str]] | None = None,
    seen: Bool[np.ndarray, "rows columns"] | None = None,
    framed: Bool[np.ndarray, "rows columns"] | None = None,
) -> pd.DataFrame:
    """Return a table with one row per entry, with row and column from 1.

    `longest` is the length of the longest text, from which the text size follows.

    Args:
        values: The matrix.
        names: The tokens of the rows and of the columns, if they have any. The numbers then have
            two decimals.
        seen: The entries to draw, by default all.
        framed: The entries with a dashed frame, by default none.
    """
    row, column = np.nonzero(np.ones(values.shape) if seen is None else seen)
    numbers = values[row, column].astype(float)
    texts = [_written(number) if names is None else _rounded(number) for number in numbers]
    places = {"row": row, "column": column}
    symbols = names or ([""] * values.shape[0], [""] * values.shape[1])
    return pd.DataFrame(
        {
            **{name: at + 1 for name, at in places.items()},
            **{
                f"{name}_name": [f"{place + 1} {of[place]}".strip() for place in at.tolist()]
                for (name, at), of in zip(places.items(), symbols, strict=True)
            },
            "value": np.where(np.isfinite(numbers), numbers, np.nan),
            "text": texts,
            "longest": max(map(len, texts)),
            "framed": False if framed is None else framed[row, column],
        }
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
    names: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
    lit: tuple[Lit, ...] = (),
    meaning: str = "value",
    square: bool = False,
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
        names: The tokens of the rows and of the columns, if they have any.
        lit: The frames.
        meaning: What an entry means, for the tooltip.
        square: Whether cells are square; otherwise the chart is as wide as its container.
    """
    rows, columns = (range(1, count + 1) for count in shape)
    low, high = domain
    # Cells with strong colours: at both ends of a signed scale, at the upper end of fractions.
    strong = f"abs(datum.value) > {0.6 * high}"
    if low >= 0:
        strong = f"datum.value > {low + 0.5 * (high - low)}"
    letter = f"min({_LETTER}, width / ({shape[1] * _LETTER_WIDTH} * datum.longest))"
    dashed = {"stroke": HUES.truth, "strokeWidth": 2, "strokeDash": [4, 2]}
    frames = [("datum.framed", dashed)] if names[0] else []
    for one in lit:
        places = (("row", one.row), ("column", one.column))
        wanted = " && ".join(f"datum.{name} === {at}" for name, at in places if at)
        frames.append((wanted, {"stroke": one.colour, "strokeWidth": 2.5}))
    cells = heatmap(
        table,
        x=side(
            alt.X,
            "column",
            column_title,
            columns,
            names=names[1] or None,
            colour=column_colour or HUES.truth,
        ),
        y=side(
            alt.Y, "row", row_title, rows, names=names[0] or None, colour=row_colour or HUES.truth
        ),
        colour=shade("value", None, ramp, domain, legend=False),
        tooltip=[
            tip("row_name:N", row_title.strip("← ")),
            tip("column_name:N", column_title.strip(" →")),
            tip("value:Q", meaning, ".6~g"),
        ],
        number=alt.Text("text:N") if max(shape) <= _MOST_NUMBERS else None,
        strong=f"isValid(datum.value) && {strong}",
        frames=frames,
        fontSize=alt.ExprRef(letter),
        fillOpacity=alt.ExprRef(f"{letter} < {_SMALLEST_LETTER} ? 0 : 1"),
    )
    if square:
        return in_squares(cells, *shape)
    return cells.properties(height=_ROW * len(rows) + _AROUND)
