"""How settings learn: mean and interval over seeds against the step."""

from collections.abc import Iterator, Sequence

import altair as alt
import pandas as pd

from attnlab.charts.core.colours import hues, past_hue
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.comparisons.intervals import (
    FEWEST_FOR_BAND,
    CurveOverSeeds,
    Interval,
    curve_over_seeds,
    widened,
)
from attnlab.comparisons.summary import Row
from attnlab.configuration.number_text import show_range

MEASURES = {
    "loss": "test loss (nats)",
    "gap": "test loss − floor (nats)",
    "accuracy": "test accuracy",
}
# A log axis has no 0: the start stands half a step before step 1.
_START = 0.5
# Of names of which two stand side by side on a phone.
_MOST_LETTERS = 22
# More lines of single seeds would hide the mean.
_MOST_SEEDS = 10


def bands_table(rows: Sequence[Row], labels: Sequence[str], measure: str) -> pd.DataFrame:
    """A row for every setting and tested step; of a gap, where the floor is known.

    `low` and `high` are empty where a setting has too few seeds for a band.
    """
    found = []
    for label, row, curve in _curves(rows, labels, measure):
        for step, mean in zip(curve.steps, curve.intervals, strict=True):
            each = _shown(mean, row, measure)
            has_band = each.n >= FEWEST_FOR_BAND
            ends = (each.low, each.high) if has_band else (None, None)
            text = show_range(each.low, each.high, places=4) if has_band else "–"
            found.append((label, step, max(step, _START), each.mean, *ends, text, each.n))
    columns = ["setting", "step", "at", "value", "low", "high", "interval", "n"]
    return pd.DataFrame(found, columns=columns).astype({"low": float, "high": float})


def each_seed_table(rows: Sequence[Row], labels: Sequence[str], measure: str) -> pd.DataFrame:
    """A row for every setting, seed and step of `bands_table`, where the seeds are few."""
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
    return row.references.best.nll if measure == "gap" else 0.0


def _shown(interval: Interval, row: Row, measure: str) -> Interval:
    if measure == "gap":
        # The error of an estimated floor is the same at every step.
        moved = interval.plus(-_subtracted(row, measure))
        return widened(moved, row.references.best.nll_stderr)
    return interval.within(0.0, 1.0) if measure == "accuracy" else interval


def levels_table(rows: Sequence[Row], measure: str) -> pd.DataFrame:
    """The best that is possible, and a uniform guess, where they are the same for all settings."""
    known = {(row.setting.experiment.generator, row.setting.experiment.length) for row in rows}
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


@drawn_once
def bands_chart(
    table: Rows,
    each: Rows,
    levels: Rows,
    *,
    measure: str,
    labels: Sequence[str],
    log_steps: bool,
    log_values: bool,
    dark: bool,
    height: int,
) -> alt.LayerChart:
    """Draw the mean of every setting in its band, single seeds as thin lines, levels in grey."""
    grey = hues(dark=dark).truth
    colours = [past_hue(number, dark=dark) for number in range(len(labels))]
    x = alt.X(
        "at:Q",
        title="step (log scale; the start at the left)" if log_steps else "step",
        scale=alt.Scale(type="log", domainMin=_START, nice=False) if log_steps else alt.Scale(),
        axis=alt.Axis(format="~s", labelOverlap=True, tickCount=6),
    )
    scale = alt.Scale(type="log", clamp=True) if log_values else alt.Scale(zero=False)

    def y(field: str) -> alt.Y:
        title = MEASURES[measure] + (", log scale" if log_values else "")
        return alt.Y(field, title=title, scale=scale, axis=alt.Axis(format="~g"))

    columns = 1 if max(map(len, labels)) > _MOST_LETTERS else 2
    colour = alt.Color(
        "setting:N",
        title=None,
        scale=alt.Scale(domain=list(labels), range=colours),
        legend=alt.Legend(
            orient="top",
            symbolType="stroke",
            symbolStrokeWidth=3,
            symbolOpacity=1,
            columns=columns,
            labelLimit=330,
        ),
    )
    base = alt.Chart(table).encode(x=x, color=colour)
    # On a log scale there is no place for what is not above 0.
    seen = base.transform_filter("datum.value > 0") if log_values else base
    floored = {"low": "max(datum.low, datum.value / 100)"} if log_values else {}
    bands = seen.transform_filter("isValid(datum.low)")
    bands = bands.transform_calculate(**floored) if floored else bands
    singles = alt.Chart(each).encode(x=x, color=colour)
    singles = singles.transform_filter("datum.value > 0") if log_values else singles
    return alt.layer(
        alt.Chart(levels)
        .encode(y=y("value:Q"))
        .mark_rule(color=grey, strokeDash=[5, 4], strokeWidth=1.5, aria=False),
        alt.Chart(levels)
        .encode(y=y("value:Q"), text="name:N")
        .mark_text(
            align="right", baseline="bottom", dx=-4, dy=-3, color=grey, aria=False, x="width"
        ),
        bands.encode(y=y("low:Q"), y2="high:Q").mark_area(opacity=0.18, aria=False),
        singles.encode(y=y("value:Q"), detail="seed:N").mark_line(
            strokeWidth=0.8, opacity=0.5, aria=False
        ),
        seen.encode(
            y=y("value:Q"),
            tooltip=[
                alt.Tooltip("setting:N"),
                alt.Tooltip("step:Q", format=",d"),
                alt.Tooltip("value:Q", title=MEASURES[measure], format=".4f"),
                alt.Tooltip("interval:N", title="95 % interval"),
                alt.Tooltip("n:Q", title="seeds", format="d"),
            ],
        ).mark_line(strokeWidth=2, aria=False, point=alt.OverlayMarkDef(size=22)),
    ).properties(height=height, padding={"right": 16})
