"""A matrix as a heatmap, with its numbers where there is room, and some cells framed."""

from typing import NamedTuple

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.core.colours import Ramp, hues
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.scale import cell_scale

_ROW = 34
# What the titles, labels and margins take of the height.
_AROUND = 62
# More labels than this would overlap.
_MOST_LABELS = 16
_MOST_NUMBERS = 16
# Of the letters in a cell: their usual height, the least that can be read, and how many heights
# one is wide with its share of the margin. Where they would be smaller they are left out.
_LETTER, _SMALLEST_LETTER, _LETTER_WIDTH = 13, 7, 0.62


class Lit(NamedTuple):
    """Which rows, columns or single cells are framed, and in which colour."""

    colour: str
    row: int | None = None
    column: int | None = None


def matrix_table(values: Float[np.ndarray, "rows columns"]) -> pd.DataFrame:
    """A row for every number, with its text and the letters of the longest; both count from 1."""
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
    # Three digits that tell, and no exponent where a few zeros will do.
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
    dark: bool,
    row_colour: str | None = None,
    column_colour: str | None = None,
    lit: tuple[Lit, ...] = (),
    meaning: str = "value",
    height: int | None = None,
) -> alt.LayerChart:
    """Rows downwards, columns across, colours on the fixed `domain`. `meaning` names the number.

    `row_colour` and `column_colour` are those of the titles; `shape` is that of the matrix.
    """
    rows = list(range(1, shape[0] + 1))
    columns = list(range(1, shape[1] + 1))
    grey = hues(dark=dark).truth
    base = alt.Chart()
    layers = [
        base.transform_filter("isValid(datum.value)")
        .mark_rect(aria=False)
        .encode(
            color=alt.Color(
                "value:Q",
                scale=alt.Scale(
                    domain=list(_ends(domain)), range=list(ramp), clamp=True, interpolate="rgb"
                ),
                legend=None,
            )
        )
    ]
    if len(columns) <= _MOST_NUMBERS and len(rows) <= _MOST_NUMBERS:
        layers.append(_numbers(base, domain, dark=dark, columns=len(columns)))
    layers += [_frame(base, one) for one in lit]
    return (
        alt.layer(*layers, data=table)
        .encode(
            x=alt.X(
                "column:O",
                title=column_title,
                scale=cell_scale(columns),
                axis=_axis(columns, column_colour or grey),
            ),
            y=alt.Y(
                "row:O",
                title=row_title,
                scale=cell_scale(rows),
                axis=_axis(rows, row_colour or grey),
            ),
            tooltip=[
                alt.Tooltip("row:O", title=row_title.strip("← ")),
                alt.Tooltip("column:O", title=column_title.strip(" →")),
                alt.Tooltip("value:Q", title=meaning, format=".6~g"),
            ],
        )
        .properties(height=height or _ROW * len(rows) + _AROUND, padding={"right": 12})
    )


def _ends(domain: tuple[float, float]) -> tuple[float, float, float]:
    return domain[0], (domain[0] + domain[1]) / 2, domain[1]


def _axis(names: list[int], colour: str) -> alt.Axis:
    every = -(-len(names) // _MOST_LABELS)
    return alt.Axis(
        values=names[::every],
        labelAngle=0,
        labelOverlap=False,
        ticks=False,
        domain=False,
        titleColor=colour,
    )


def _numbers(
    base: alt.Chart, domain: tuple[float, float], *, dark: bool, columns: int
) -> alt.Chart:
    low, high = domain
    ink, paper = ("#e6e9f0", "#12151c") if dark else ("#1d2433", "#ffffff")
    # A scale from negative to positive is strong at both ends, one of shares at its upper end.
    strong = (
        f"abs(datum.value) > {0.6 * high}"
        if low < 0
        else f"datum.value > {low + 0.5 * (high - low)}"
    )
    letter = f"min({_LETTER}, width / ({columns * _LETTER_WIDTH} * datum.longest))"
    return base.mark_text(
        fontSize=alt.expr(letter),
        fillOpacity=alt.expr(f"{letter} < {_SMALLEST_LETTER} ? 0 : 1"),
        aria=False,
    ).encode(
        text="text:N",
        color=alt.condition(f"isValid(datum.value) && {strong}", alt.value(paper), alt.value(ink)),
    )


def _frame(base: alt.Chart, lit: Lit) -> alt.Chart:
    tests = [
        f"datum.{name} === {at}" for name, at in (("row", lit.row), ("column", lit.column)) if at
    ]
    return base.transform_filter(" && ".join(tests)).mark_rect(
        fill=None, stroke=lit.colour, strokeWidth=2.5, aria=False
    )
