"""Charts of a comparison: learning curves, heatmaps of two options, parallel coordinates."""

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from attnlab.charts.dots import title_of
from attnlab.charts.drawing import Chart, Drawing, Rows, drawn_once
from attnlab.charts.heatmap import PIXELS_APART, heatmap, shade, side, tip
from attnlab.charts.lines import Scale, Series, by_name, level_table, lines_chart
from attnlab.charts.style import HUES, INK, SHARES, past_hue
from attnlab.comparisons.intervals import (
    FEWEST_FOR_BAND,
    CurveOverSeeds,
    Interval,
    curve_over_seeds,
    widened,
)
from attnlab.comparisons.summary import Row, interval_of
from attnlab.configuration.number_text import show_range
from attnlab.configuration.options import present

BRUSH = "brush"
# Heights in pixels: of a cell, of the space around the cells, and of the smallest map.
_CELL, _AROUND, _LEAST = 62, 110, 230
MEASURES = {
    "loss": "test loss (nats)",
    "gap": "test loss − floor (nats)",
    "accuracy": "test accuracy",
}
# A logarithmic axis has no 0, so step 0 is drawn at 0.5.
_START = 0.5
# Pixels of a letter of a label.
_LETTER = 7
# More lines of single seeds would hide the mean.
_MOST_SEEDS = 10


def bands_table(rows: Sequence[Row], labels: Sequence[str], measure: str) -> pd.DataFrame:
    """Return a table with one row per setting and tested step: mean and confidence band.

    `low` and `high` are empty if there are too few seeds. Settings without a known floor have no
    rows if `measure` is "gap".
    """
    found = []
    for label, row, curve in _curves(rows, labels, measure):
        for step, mean in zip(curve.steps, curve.intervals, strict=True):
            each = _shown(mean, row, measure)
            has_band = each.n >= FEWEST_FOR_BAND
            ends = (each.low, each.high) if has_band else (None, None)
            text = show_range(*each.ends, places=4) if has_band else "–"
            found.append((label, step, max(step, _START), each.mean, *ends, text, each.n))
    columns = ["setting", "step", "at", "value", "low", "high", "interval", "n"]
    return pd.DataFrame(found, columns=columns).astype({"low": float, "high": float})


def each_seed_table(rows: Sequence[Row], labels: Sequence[str], measure: str) -> pd.DataFrame:
    """Return a table with one row per setting, seed and tested step; none with many seeds."""
    found = [
        (label, seed, max(step, _START), value - _subtracted(row, measure))
        for label, row, curve in _curves(rows, labels, measure)
        if 1 < len(curve.each) <= _MOST_SEEDS
        for seed, values in curve.each.items()
        for step, value in zip(curve.steps, values, strict=True)
    ]
    return pd.DataFrame(found, columns=["setting", "seed", "at", "value"])


def _curves(
    rows: Sequence[Row], labels: Sequence[str], measure: str
) -> Iterator[tuple[str, Row, CurveOverSeeds]]:
    for row, label in zip(rows, labels, strict=True):
        if measure != "gap" or row.references is not None:
            figure = "accuracy" if measure == "accuracy" else "nll"
            yield label, row, curve_over_seeds(row.finished, figure)


def _subtracted(row: Row, measure: str) -> float:
    return present(row.references).best.nll if measure == "gap" else 0.0


def _shown(interval: Interval, row: Row, measure: str) -> Interval:
    if measure == "gap":
        # An estimated floor adds the same error at every step.
        moved = interval.plus(-_subtracted(row, measure))
        return widened(moved, present(row.references).best.nll_stderr)
    return interval.within(0.0, 1.0 if measure == "accuracy" else np.inf)


def levels_table(rows: Sequence[Row], measure: str) -> pd.DataFrame:
    """Return a table of the best possible result and a uniform guess, if equal for all settings."""
    known = {(row.experiment.generator, row.experiment.length) for row in rows}
    references = rows[0].references if rows else None
    if len(known) != 1 or references is None:
        return pd.DataFrame([], columns=["name", "value"])
    if measure == "gap":
        span = references.uniform.nll - references.best.nll
        return pd.DataFrame([("uniform guess", span)], columns=["name", "value"])
    name = "accuracy" if measure == "accuracy" else "nll"
    pairs = (("best possible", references.best), ("uniform guess", references.uniform))
    found = [(title, getattr(best, name)) for title, best in pairs]
    return pd.DataFrame(found, columns=["name", "value"])


def bands_chart(
    table: pd.DataFrame,
    each: pd.DataFrame,
    levels: pd.DataFrame,
    *,
    measure: str,
    labels: Sequence[str],
    log_steps: bool,
    log_values: bool,
    height: int | None = None,
) -> Drawing:
    """Draw each setting's mean with its band, single seeds as thin lines, and levels in grey."""
    if log_values:
        # A logarithmic scale cannot show values of 0 or below.
        table, each = (rows.loc[rows["value"] > 0] for rows in (table, each))
        table = table.assign(low=np.maximum(table["low"], table["value"] / 100))
    known = dict(zip(levels["name"], levels["value"], strict=True))
    at = np.append(table["at"].to_numpy(float), _START)
    return lines_chart(
        table.rename(columns={"setting": "series"}),
        level_table(known, (float(at.min()), float(at.max()))),
        None,
        each.rename(columns={"setting": "series"}),
        x=Scale(
            "step (log scale, from step 0)" if log_steps else "step",
            labels="~s",
            kind="log" if log_steps else "linear",
        ),
        y=Scale(
            MEASURES[measure] + (", log scale" if log_values else ""),
            ".4f",
            labels="~g",
            kind="log" if log_values else "linear",
            zero=False,
        ),
        series=tuple(Series(label, past_hue(at)) for at, label in enumerate(labels)),
        look="band",
        noun="setting",
        tips=(("step", "step", ",d"), ("interval", "95 % interval", ""), ("n", "seeds", "d")),
        height=height,
    )


def swept_table(rows: Sequence[Row], across: str, down: str, figure: str) -> pd.DataFrame:
    """Return a table with one row per pair of values: the mean result of all runs with them."""
    cells: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        options = dict(row.setting.options)
        each = interval_of(row, figure)
        if across in options and down in options and each is not None:
            place = options[across], options[down]
            cells.setdefault(place, []).append(each.mean)
    found = [(*place, float(np.mean(each)), len(each)) for place, each in cells.items()]
    return pd.DataFrame(found, columns=["across", "down", "value", "settings"])


@drawn_once
def swept_chart(
    table: Rows,
    *,
    figure: str,
    titles: tuple[str, str],
    across: Sequence[str],
    down: Sequence[str],
    domain: tuple[float, float],
) -> Chart:
    """Draw a result as a heatmap of two options; `domain` are the ends of the colour scale."""
    number, exact = (".0%", ".1%") if figure == "learned" else (".3f", ".4f")
    # On a phone there is no room for the whole title beside the colours.
    title = "learned" if figure == "learned" else title_of(figure)
    ends = {"values": domain, "form": number, "length": 120}
    # Names that do not fit side by side are turned: left out, a column would have no name.
    needed = len(across) * (_LETTER * max(map(len, across), default=0) + PIXELS_APART)
    turned = alt.ExprRef(f"width > {needed} ? 0 : -90")
    return heatmap(
        table,
        x=side(alt.X, "across", f"{titles[0]} →", across, orient="top", labelAngle=turned),
        y=side(alt.Y, "down", f"← {titles[1]}", down),
        colour=shade("value", title, SHARES, domain, **ends),
        tooltip=[
            tip("across:N", titles[0]),
            tip("down:N", titles[1]),
            tip("value:Q", title_of(figure), exact),
            tip("settings:Q", "number of settings", "d"),
        ],
        number=alt.Text("value:Q", format=number),
        strong=f"datum.value > {sum(domain) / 2}",
    ).properties(height=max(_LEAST, _CELL * len(down) + _AROUND))


class Axis(NamedTuple):
    """An axis of parallel coordinates.

    `heights` has each setting's position from 0 to 1, or None. `marks` are labels at heights.
    """

    title: str
    heights: tuple[float | None, ...]
    marks: tuple[tuple[float, str], ...]


def axis_of_texts(title: str, texts: Sequence[str | None], order: Sequence[str]) -> Axis:
    """Return an axis with the values of an option, evenly spaced in the given order."""
    steps = max(1, len(order) - 1)
    places = {text: number / steps for number, text in enumerate(order)}
    return Axis(title, tuple(None if text is None else places.get(text) for text in texts), tuple(
        (height, text) for text, height in places.items()
    ))  # fmt: skip


def axis_of_numbers(title: str, numbers: Sequence[float | None], form: str) -> Axis:
    """Return an axis from the smallest to the largest number; `form` formats its labels."""
    known = [number for number in numbers if number is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    span = high - low or 1.0
    heights = tuple(None if number is None else (number - low) / span for number in numbers)
    marks = ((0.0, format(low, form)), (1.0, format(high, form)))
    return Axis(title, heights, marks if high > low else marks[:1])


def lines_table(axes: Sequence[Axis], labels: Sequence[str], lit: Sequence[bool]) -> pd.DataFrame:
    """Return a table with one row per setting and axis; settings with `lit` are highlighted."""
    found = [
        (number, label, place, axis.heights[number], "in" if lit[number] else "out")
        for number, label in enumerate(labels)
        for place, axis in enumerate(axes)
        if axis.heights[number] is not None
    ]
    return pd.DataFrame(found, columns=["number", "setting", "axis", "height", "lit"])


def marks_table(axes: Sequence[Axis]) -> pd.DataFrame:
    """Return a table with one row per label of an axis."""
    found = [
        (place, height, text) for place, axis in enumerate(axes) for height, text in axis.marks
    ]
    return pd.DataFrame(found, columns=["axis", "height", "text"])


def within(
    axes: Sequence[Axis], across: tuple[float, float], heights: tuple[float, float]
) -> tuple[bool, ...]:
    """Return, for each setting, whether its line passes through a box.

    The box ranges `across` the indices of the axes and over `heights`. A line passes through if its
    height is in this range on every axis inside the box.
    """
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
def parallel_chart(lines: Rows, marks: Rows, *, titles: Sequence[str]) -> Chart:
    """Draw one line per setting in parallel coordinates; the user can drag a box over the axes."""
    places = list(range(len(titles)))
    x = alt.X(
        "axis:Q",
        title=None,
        scale=alt.Scale(domain=[-0.2, len(titles) - 0.6], nice=False, zero=False),
        axis=alt.Axis(
            values=places,
            labelExpr=f"{json.dumps(list(titles), ensure_ascii=False)}[datum.value]",
            orient="top",
            ticks=False,
            domain=False,
            labelLimit=130,
            gridColor=HUES.truth,
        ),
    )
    y = alt.Y("height:Q", axis=None, scale=alt.Scale(domain=[-0.06, 1.06], nice=False, zero=False))
    look, lit = {"title": alt.Undefined, "legend": None}, ("in", "out")
    drawn = alt.Chart(lines).encode(
        x=x,
        y=y,
        detail="number:N",
        color=by_name(alt.Color, "lit", lit, (HUES.learned, HUES.training), **look),
        opacity=by_name(alt.Opacity, "lit", lit, (0.8, 0.2), **look),
        tooltip=[tip("setting:N")],
    )
    brush = alt.selection_interval(name=BRUSH, encodings=["x", "y"])
    texts = alt.Chart(marks).encode(x=x, y=y, text="text:N")
    return alt.layer(
        drawn.mark_line(strokeWidth=1.8, point=alt.OverlayMarkDef(size=30, opacity=1)).add_params(
            brush
        ),
        texts.mark_text(align="left", dx=7, color=INK, fontSize=11),
    )
