"""Charts of a comparison: learning curves, heatmaps, parallel coordinates, shares of variance."""

import json
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from attnlab.charts.dots import title_of
from attnlab.charts.drawing import Chart, Drawing, Rows, drawn_once
from attnlab.charts.heatmap import Shade, Side, heatmap_chart, tip
from attnlab.charts.lines import Scale, Series, by_name, level_table, lines_chart
from attnlab.charts.style import HUES, INK, past_hue
from attnlab.comparisons.intervals import FEWEST_FOR_BAND, curve_over_seeds, widened
from attnlab.comparisons.paired import Share
from attnlab.comparisons.summary import Row, interval_of
from attnlab.configuration.number_text import show_range

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
# More lines of single seeds would hide the mean.
_MOST_SEEDS = 10
SEED = "the seed"
# Heights in pixels of a share's row, and of the space around the shares.
_SHARE_ROW, _SHARE_AROUND = 30, 70


def bands_chart(
    rows: Sequence[Row],
    labels: Sequence[str],
    *,
    measure: str,
    log_steps: bool = False,
    log_values: bool = False,
    height: int | None = None,
) -> Drawing:
    """Draw each setting's mean with its band, single seeds as thin lines, and levels in grey.

    There is no band with too few seeds. With the measure "gap", settings without a known floor are
    left out. Levels are the best possible result and a uniform guess, if equal for all settings.
    """
    field = "accuracy" if measure == "accuracy" else "nll"
    means, seeds = [], []
    for label, row in zip(labels, rows, strict=True):
        curve, floor, error = curve_over_seeds(row.finished, field), 0.0, 0.0
        if measure == "gap":
            if row.references is None:
                continue
            # An estimated floor adds the same error at every step.
            floor, error = row.references.best.nll, row.references.best.nll_stderr
        for step, interval in zip(curve.steps, curve.intervals, strict=True):
            mean = widened(interval.plus(-floor), error)
            if measure != "gap":
                mean = interval.within(0.0, 1.0 if measure == "accuracy" else np.inf)
            has_band = mean.n >= FEWEST_FOR_BAND
            ends = (mean.low, mean.high) if has_band else (None, None)
            text = show_range(*mean.ends, places=4) if has_band else "–"
            means.append((label, step, max(step, _START), mean.mean, *ends, text, mean.n))
        if 1 < len(curve.each) <= _MOST_SEEDS:
            seeds += [
                (label, seed, max(step, _START), value - floor)
                for seed, values in curve.each.items()
                for step, value in zip(curve.steps, values, strict=True)
            ]
    columns = ["series", "step", "at", "value", "low", "high", "interval", "n"]
    table = pd.DataFrame(means, columns=columns).astype({"low": float, "high": float})
    each = pd.DataFrame(seeds, columns=["series", "seed", "at", "value"])
    if log_values:
        # A logarithmic scale cannot show values of 0 or below.
        table, each = (found.loc[found["value"] > 0] for found in (table, each))
        table = table.assign(low=np.maximum(table["low"], table["value"] / 100))
    at = np.append(table["at"].to_numpy(float), _START)
    return lines_chart(
        table,
        level_table(_levels(rows, measure), (float(at.min()), float(at.max()))),
        None,
        each,
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


def _levels(rows: Sequence[Row], measure: str) -> dict[str, float]:
    known = {(row.experiment.generator, row.experiment.length) for row in rows}
    references = rows[0].references if rows else None
    if len(known) != 1 or references is None:
        return {}
    best, uniform = references.best, references.uniform
    if measure == "gap":
        return {"uniform guess": uniform.nll - best.nll}
    name = rows[0].experiment.generator.best_words.best
    if measure == "accuracy":
        return {name: best.accuracy, "uniform guess": uniform.accuracy}
    return {name: best.nll, "uniform guess": uniform.nll}


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


def swept_chart(
    table: pd.DataFrame,
    *,
    figure: str,
    titles: tuple[str, str],
    across: tuple[str, ...],
    down: tuple[str, ...],
    domain: tuple[float, float],
) -> Drawing:
    """Draw a result as a heatmap of two options; `domain` are the ends of the colour scale.

    The table is as returned by `swept_table`.
    """
    is_share = figure == "learned"
    number, exact = (".0%", ".1%") if is_share else (".3f", ".4f")
    # On a phone there is no room for the whole title beside the colours.
    title = "learned" if is_share else title_of(figure)
    return heatmap_chart(
        table,
        # Left out, a column would have no name.
        x=Side("across", f"{titles[0]} →", across, look=(("orient", "top"),), turns=True),
        y=Side("down", f"← {titles[1]}", down),
        shades=(Shade(title, domain=domain, values=domain, form=number, length=120),),
        tips=(
            ("across", titles[0], ""),
            ("down", titles[1], ""),
            ("value", title_of(figure), exact),
            ("settings", "number of settings", "d"),
        ),
        number=("value", number),
        strong=sum(domain) / 2,
        height=max(_LEAST, _CELL * len(down) + _AROUND),
    )


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


def within(
    axes: Sequence[Axis], across: tuple[float, float], heights: tuple[float, float]
) -> tuple[bool, ...]:
    """Return, for each setting, whether its line passes through a box.

    The box ranges `across` the indices of the axes and over `heights`. A line passes through if its
    height is in this range on every axis inside the box.
    """
    low, high = min(heights), max(heights)
    inside = [
        [height is not None and low <= height <= high for height in axis.heights]
        for place, axis in enumerate(axes)
        if min(across) <= place <= max(across)
    ]
    count = len(axes[0].heights) if axes else 0
    return tuple(all(passes[number] for passes in inside) for number in range(count))


def parallel_chart(
    axes: Sequence[Axis], labels: Sequence[str], lit: Sequence[bool], *, height: int | None = None
) -> Drawing:
    """Draw one line per setting in parallel coordinates; settings with `lit` are highlighted.

    The user can drag a box over the axes; its selection is `BRUSH`.
    """
    lines = [
        (number, label, place, axis.heights[number], "in" if lit[number] else "out")
        for number, label in enumerate(labels)
        for place, axis in enumerate(axes)
        if axis.heights[number] is not None
    ]
    marks = [(place, *mark) for place, axis in enumerate(axes) for mark in axis.marks]
    return _parallel(
        pd.DataFrame(lines, columns=["number", "setting", "axis", "height", "lit"]),
        pd.DataFrame(marks, columns=["axis", "height", "text"]),
        titles=tuple(axis.title for axis in axes),
        height=height,
    )


@drawn_once
def _parallel(lines: Rows, marks: Rows, *, titles: tuple[str, ...]) -> Chart:
    x = alt.X(
        "axis:Q",
        title=None,
        scale=alt.Scale(domain=[-0.2, len(titles) - 0.6], nice=False, zero=False),
        axis=alt.Axis(
            values=list(range(len(titles))),
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


def share_names(shares: Sequence[Share]) -> tuple[str, ...]:
    """Return each share's name: its options, joined by ×, or the seed."""
    return tuple(" × ".join(share.options) or SEED for share in shares)


def shares_table(shares: Sequence[Share]) -> pd.DataFrame:
    """Return a table with one row per share of the variance; `kind` is "option" or "seed"."""
    names = share_names(shares)
    return pd.DataFrame(
        {
            "part": names,
            "share": [share.share for share in shares],
            "chance": [share.by_chance for share in shares],
            "kind": ["seed" if name == SEED else "option" for name in names],
        }
    )


@drawn_once
def shares_chart(table: Rows, *, parts: Sequence[str]) -> Chart:
    """Draw shares of the variance as bars, with a tick at the share expected by chance."""
    title, scale = "share of the variance", alt.Scale(domain=list(parts))
    axis = alt.Axis(labelLimit=260, ticks=False, domain=False)
    tooltip = [
        tip("part:N", "due to"),
        tip("share:Q", title, ".1%"),
        tip("chance:Q", "expected by chance", ".1%"),
    ]
    base = alt.Chart(table).encode(
        y=alt.Y("part:N", title=None, scale=scale, axis=axis), tooltip=tooltip
    )
    unit, axis = alt.Scale(domain=[0, 1]), alt.Axis(format=".0%", tickCount=5)
    x = partial(alt.X, title=title, scale=unit, axis=axis)
    hues = (HUES.learned, HUES.sampled)
    colour = by_name(alt.Color, "kind", ("option", "seed"), hues, legend=None)
    number = base.encode(x=x("share:Q"), text=alt.Text("share:Q", format=".0%"))
    return alt.layer(
        base.encode(x=x("share:Q"), color=colour).mark_bar(cornerRadius=2),
        base.encode(x=x("chance:Q")).mark_tick(color=HUES.truth, thickness=2, bandSize=22),
        number.mark_text(align="left", dx=5, color=HUES.truth),
    ).properties(height=_SHARE_ROW * len(parts) + _SHARE_AROUND, padding={"right": 40})
