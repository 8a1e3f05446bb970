"""Every setting as a line through its options and what they came to."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from attnlab.charts.core.colours import hues, inks
from attnlab.charts.core.drawing import Rows, drawn_once

BRUSH = "brush"


class Axis(NamedTuple):
    """A title, and where on it every setting stands, from 0 to 1; None where it has no place.

    `marks` are texts at some heights.
    """

    title: str
    heights: tuple[float | None, ...]
    marks: tuple[tuple[float, str], ...]


def axis_of_texts(title: str, texts: Sequence[str | None], order: Sequence[str]) -> Axis:
    """An axis of values in their given order."""
    steps = max(1, len(order) - 1)
    places = {text: number / steps for number, text in enumerate(order)}
    return Axis(title, tuple(places.get(text) for text in texts), tuple(
        (height, text) for text, height in places.items()
    ))  # fmt: skip


def axis_of_numbers(title: str, numbers: Sequence[float | None], form: str) -> Axis:
    """An axis from the least of the numbers to the greatest."""
    known = [number for number in numbers if number is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    span = high - low or 1.0
    heights = tuple(None if number is None else (number - low) / span for number in numbers)
    marks = ((0.0, format(low, form)), (1.0, format(high, form)))
    return Axis(title, heights, marks if high > low else marks[:1])


def lines_table(axes: Sequence[Axis], labels: Sequence[str], lit: Sequence[bool]) -> pd.DataFrame:
    """A row for every setting and axis that it has a place on."""
    found = [
        (number, label, place, axis.heights[number], "in" if lit[number] else "out")
        for number, label in enumerate(labels)
        for place, axis in enumerate(axes)
        if axis.heights[number] is not None
    ]
    return pd.DataFrame(found, columns=["number", "setting", "axis", "height", "lit"])


def marks_table(axes: Sequence[Axis]) -> pd.DataFrame:
    """A row for every text on an axis."""
    found = [
        (place, height, text) for place, axis in enumerate(axes) for height, text in axis.marks
    ]
    return pd.DataFrame(found, columns=["axis", "height", "text"])


def within(
    axes: Sequence[Axis], across: tuple[float, float], heights: tuple[float, float]
) -> tuple[bool, ...]:
    """Which settings pass a box: on every axis in it, and there are some, at its heights."""
    inside = [axis for place, axis in enumerate(axes) if min(across) <= place <= max(across)]
    low, high = min(heights), max(heights)
    count = len(axes[0].heights) if axes else 0
    if not inside:
        return (True,) * count
    return tuple(
        all(
            (height := axis.heights[number]) is not None and low <= height <= high
            for axis in inside
        )
        for number in range(count)
    )


@drawn_once
def parallel_chart(
    lines: Rows, marks: Rows, *, titles: Sequence[str], dark: bool, height: int
) -> alt.LayerChart:
    """A line for every setting; a box can be drawn over axes, which the page makes use of."""
    hue, ink = hues(dark=dark), inks(dark=dark).ink
    names = f"{json.dumps(list(titles), ensure_ascii=False)}[datum.value]"
    x = alt.X(
        "axis:Q",
        title=None,
        scale=alt.Scale(domain=[-0.2, len(titles) - 0.6], nice=False, zero=False),
        axis=alt.Axis(
            values=list(np.arange(len(titles))),
            labelExpr=names,
            orient="top",
            ticks=False,
            domain=False,
            labelLimit=130,
            gridColor=hue.truth,
        ),
    )
    y = alt.Y(
        "height:Q",
        axis=None,
        scale=alt.Scale(domain=[-0.06, 1.06], nice=False, zero=False),
    )
    brush = alt.selection_interval(name=BRUSH, encodings=["x", "y"])
    drawn = (
        alt.Chart(lines)
        .mark_line(strokeWidth=1.8, aria=False, point=alt.OverlayMarkDef(size=30, opacity=1))
        .encode(
            x=x,
            y=y,
            detail="number:N",
            color=alt.Color(
                "lit:N",
                scale=alt.Scale(domain=["in", "out"], range=[hue.learned, hue.training]),
                legend=None,
            ),
            opacity=alt.Opacity(
                "lit:N", scale=alt.Scale(domain=["in", "out"], range=[0.8, 0.2]), legend=None
            ),
            tooltip=[alt.Tooltip("setting:N")],
        )
        .add_params(brush)
    )
    texts = (
        alt.Chart(marks)
        .mark_text(align="left", dx=7, color=ink, fontSize=11, aria=False)
        .encode(x=x, y=y, text="text:N")
    )
    return alt.layer(drawn, texts).properties(height=height, padding={"right": 16})
