"""The loss of runs against the step, with known losses of the process."""

import bisect
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from attnlab.charts.drawing import Chart, Drawing, Rows, drawn_once
from attnlab.charts.heatmap import tip
from attnlab.charts.lines import (
    Scale,
    by_name,
    distinct,
    level_table,
    lines_chart,
    series_table,
)
from attnlab.charts.style import HUES
from attnlab.comparisons.intervals import FEWEST_FOR_BAND, CurveOverSeeds
from attnlab.configuration.number_text import show_measured
from attnlab.optimum import Best
from attnlab.runs.history import History, loss_curve
from attnlab.training.evaluation import Evaluation

HOVER = "hover"
_TRAIN, _TEST, _TRUTH = "training", "test", "known losses"
_CURSOR, _CHANGE, _PLACE = "shown step", "change", "place"
_SEEDS, _EACH = "mean over seeds", "each seed"
# With more seeds, their lines would hide the mean and are not drawn.
_MOST_SEEDS = 10
_PAST_OPACITY = 0.4
# The share of the steps whose losses may be cut off by the axis.
_BEGINNING = 0.02
# Pixels of a name in the legend; a narrow chart would leave no width to the curves.
_MOST_LEGEND = alt.ExprRef("containerSize()[0] < 380 ? 80 : 120")
# Dash patterns of earlier runs, which thus differ in more than colour.
_PAST_DASHES = ([9, 2], [2, 2], [9, 2, 2, 2], [2, 5], [14, 3])


class PastCurve(NamedTuple):
    """The test loss of an earlier run, in nats by step, with its name and colour."""

    name: str
    colour: str
    tests: Sequence[tuple[int, float]]


def loss_table(
    history: History,
    *,
    known: Mapping[str, float | Best],
    last_step: int,
    latest: tuple[int, Evaluation] | None,
    cursor: int | None,
    past: Sequence[PastCurve] = (),
    seeds: CurveOverSeeds | None = None,
) -> pd.DataFrame:
    """Return a table with one row per series and step: nats, a label, and tooltip texts.

    A training loss is the batch mean before the update of its step; a test loss is measured after
    it. Rows of the series `place` have the texts of all curves at their step, for the tooltip.

    Args:
        history: The losses of the run.
        known: Losses that do not depend on the run, such as a uniform guess and the floor, by name.
            Estimated ones are labelled with their errors.
        last_step: The end of the step axis.
        latest: The newest test and its step, if the history does not have it yet.
        cursor: The step that the page shows, to be marked.
        past: Earlier runs.
        seeds: Test losses of runs with these settings and other seeds.
    """
    steps, values = loss_curve(history)
    tests = dict(history.tests)
    if latest is not None:
        tests[latest[0]] = latest[1]
    parts = [
        {"series": _TRAIN, "step": steps, "nats": values},
        {"series": _TEST, "step": list(tests), "nats": [test.nll for test in tests.values()]},
    ]
    for curve in past:
        at, nats = zip(*curve.tests, strict=True)
        parts.append({"series": curve.name, "step": at, "nats": nats})
    if seeds is not None:
        has_band = len(seeds.each) >= FEWEST_FOR_BAND
        ends = [(each.low, each.high) if has_band else (None, None) for each in seeds.intervals]
        lows, highs = zip(*ends, strict=True)
        means = [each.mean for each in seeds.intervals]
        parts.append(
            {"series": _SEEDS, "step": seeds.steps, "nats": means, "low": lows, "high": highs}
        )
        if len(seeds.each) <= _MOST_SEEDS:
            parts += [
                {"series": _EACH, "step": seeds.steps, "nats": nats, "label": f"seed {seed}"}
                for seed, nats in seeds.each.items()
            ]
    for name, value in known.items():
        best = value if isinstance(value, Best) else Best(value, math.nan)
        nats, error = best.nll, best.nll_stderr
        label = f"{name} {show_measured(nats, error) if error else f'{nats:.3f}'}"
        parts.append({"series": _TRUTH, "step": [0, last_step], "nats": nats, "label": label})
    if cursor is not None:
        parts.append({"series": _CURSOR, "step": [cursor]})
    parts += [
        {"series": _CHANGE, "step": [change.step], "label": str(change)}
        for change in history.changes
    ]
    parts.append(
        {
            "series": _PLACE,
            "step": list(tests),
            _TEST: [f"{test.nll:.4f} ± {test.nll_stderr:.4f}" for test in tests.values()],
            _TRAIN: _texts_at(list(zip(steps.tolist(), values.tolist(), strict=True)), tests),
            **{_text_column(i): _texts_at(curve.tests, tests) for i, curve in enumerate(past)},
        }
    )
    table = pd.concat([pd.DataFrame(part) for part in parts if len(part["step"])])
    table["top"] = _top(table, last_step)
    texts = [_TEST, _TRAIN, *map(_text_column, range(len(past)))]
    band = [] if seeds is None else ["low", "high"]
    numbers = ["step", "nats", "top", *band]
    table = table.reindex(columns=["series", *numbers, "label", *texts])
    return table.reset_index(drop=True).astype(dict.fromkeys(numbers, float))


def _top(table: pd.DataFrame, last_step: int) -> float:
    """Return the largest loss that the axis shows, in nats.

    Most runs begin far above all their later losses. Once there is a later test, the first steps
    do not count, and their losses may be cut off.
    """
    is_test = (table["series"] == _TEST).to_numpy()
    is_known = (table["series"] == _TRUTH).to_numpy()
    is_late = (table["step"] > _BEGINNING * last_step).to_numpy()
    nats = table["nats"].to_numpy(float)
    if (is_test & is_late).any():
        nats = nats[is_late | is_known]
    # Room for the label of the highest line.
    return float(np.nanmax(nats) + 0.1 * (np.nanmax(nats) - np.nanmin(nats)))


def _text_column(place: int) -> str:
    """Return a column name for an earlier run; Vega might interpret the run's own name."""
    return f"text of {place}"


def _texts_at(tests: Sequence[tuple[int, float]], steps: Iterable[int]) -> list[str | None]:
    return [_text_at(tests, step) for step in steps]


def _text_at(points: Sequence[tuple[int, float]], step: int) -> str | None:
    """Return the value at a step as text, or the last value before it, with its step."""
    place = bisect.bisect_right(points, step, key=lambda point: point[0]) - 1
    if place < 0:
        return None
    at, nats = points[place]
    return f"{nats:.4f}" if at == step else f"{nats:.4f} (step {at:,})"


_TOP = "extent(pluck(data('table'), 'top'))[1]"
# With a single known loss, Vega would show all its digits as an axis label.
_NATS = "length(datum.label) > 6 ? format(datum.value, '.4r') : datum.label"


@drawn_once
def loss_chart(
    table: Rows,
    *,
    last_step: int,
    past: tuple[tuple[str, str], ...] = (),
    logarithmic: bool = False,
    seeds: bool = False,
) -> Chart:
    """Draw training and test loss in nats, known losses as dashed lines, and the shown step.

    While a run trains, only `table` may change: then the browser moves the lines without redrawing
    the chart. The selection `HOVER` is the tested step nearest to the pointer.

    Args:
        table: As returned by `loss_table`.
        last_step: The end of the step axis.
        past: Names and colours of earlier runs, which are thinner and paler.
        logarithmic: Whether the step axis is logarithmic.
        seeds: Whether the table has curves over seeds: each seed, the mean, and its interval.
    """
    dashes = itertools.cycle(_PAST_DASHES)
    runs, past = past, (((_SEEDS, HUES.sampled), *past) if seeds else past)
    names = {_TRAIN: _TRAIN, _TEST: _TEST}
    names |= {_text_column(place): name for place, (name, _) in enumerate(runs)}
    series = [_TRAIN, _TEST, _TRUTH, *(name for name, _ in past)]
    # Known losses have their names at their lines.
    named = [name for name in series if name != _TRUTH]
    # Names of many runs above the chart would leave no height to the curves.
    place: dict[str, Any] = {"orient": "right", "columns": 1} if past else {"orient": "top"}
    legend = alt.Legend(
        values=named,
        symbolType="stroke",
        symbolStrokeWidth=3,
        symbolSize=300,
        symbolOpacity=1,
        labelLimit=_MOST_LEGEND,
        labelFontSize=11,
        rowPadding=1,
        offset=2,
        padding=0,
        **place,
    )
    colours = [HUES.training, HUES.learned, HUES.truth, *(colour for _, colour in past)]
    colour = by_name(alt.Color, "series", series, colours, legend=legend)
    strokes = [[1, 0], [1, 0], [5, 4], *(next(dashes) for _ in past)]
    dash = by_name(alt.StrokeDash, "series", series, strokes)
    # A symmetric logarithmic scale includes step 0.
    ticks: dict[str, Any] = {"values": _decades(last_step)} if logarithmic else {"tickMinStep": 1}
    step = alt.X(
        "step:Q",
        title="step",
        scale=alt.Scale(
            domain=[0, last_step], nice=False, type="symlog" if logarithmic else alt.Undefined
        ),
        # The title is in the line of the axis labels, which leaves more height to the curves.
        axis=alt.Axis(
            format=",d",
            titleX=-10,
            titleY=7,
            titleAlign="right",
            titleBaseline="top",
            titleAnchor="start",
            **ticks,
        ),
    )
    y = partial(
        alt.Y,
        title="loss (nats)",
        scale=alt.Scale(zero=False, nice=True, domainMax=alt.ExprRef(_TOP)),
        axis=alt.Axis(labelExpr=_NATS),
    )
    nats, upright = y("nats:Q"), alt.Chart(table).encode(x=step)

    def only(name: str) -> alt.Chart:
        return upright.transform_filter(alt.datum.series == name)

    # The floor is named below its line, so that names are readable where lines meet. A layer for it
    # alone would be empty until it is known, of which browsers are warned.
    is_floor = "indexof(datum.label, 'floor') == 0"
    labels = only(_TRUTH).transform_filter("datum.step > 0").encode(y=nats, text="label:N")
    labels = labels.mark_text(
        align="right",
        dx=-4,
        color=HUES.truth,
        baseline=alt.ExprRef(f"{is_floor} ? 'top' : 'bottom'"),
        dy=alt.ExprRef(f"{is_floor} ? 3 : -3"),
    )
    is_past = alt.FieldOneOfPredicate("series", [name for name, _ in runs])
    is_test, is_training = alt.datum.series == _TEST, alt.datum.series == _TRAIN
    opacity = alt.when(is_past).then(alt.value(_PAST_OPACITY))
    opacity = opacity.when(is_training).then(alt.value(0.6)).otherwise(alt.value(1))
    # A single layer: one with training losses alone would be empty at first, and have no extent.
    lines = upright.transform_filter(alt.FieldOneOfPredicate("series", series)).encode(
        y=nats,
        color=colour,
        strokeDash=dash,
        detail="label:N",
        strokeWidth=alt.when(is_test).then(alt.value(2.5)).otherwise(alt.value(1.4)),
        opacity=opacity,
    )
    band = only(_SEEDS).transform_filter("isValid(datum.low)")
    each = only(_EACH).encode(y=nats, detail="label:N")
    over_seeds = [
        band.encode(y=y("low:Q"), y2="high:Q").mark_area(color=HUES.sampled, opacity=0.2),
        each.mark_line(color=HUES.sampled, strokeWidth=0.8, opacity=0.5),
    ] * seeds
    change = [tip("label:N", "changed"), tip("step:Q")]
    return alt.layer(
        *over_seeds,
        lines.mark_line(clip=True),
        labels,
        # The steps at which settings were changed during the run.
        only(_CHANGE).mark_rule(strokeDash=[2, 2], color=HUES.cursor),
        only(_CHANGE)
        .mark_text(text="✎", baseline="top", dx=8, fontSize=13, color=HUES.cursor)
        .encode(y=alt.value(0), tooltip=change),
        only(_CURSOR).mark_rule(strokeWidth=2, color=HUES.cursor),
        _hovered(only(_PLACE), names),
    ).properties(padding={"left": 0, "top": 0, "right": 16, "bottom": 4})


def _decades(last_step: int) -> list[int]:
    return [0, *(10**power for power in range(len(str(last_step))) if 10**power <= last_step)]


def _hovered(places: alt.Chart, names: Mapping[str, str]) -> alt.Chart:
    """Return a rule at the tested step nearest to the pointer, whose tooltip has all values."""
    hover = alt.selection_point(
        name=HOVER,
        nearest=True,
        on="pointermove",
        fields=["step"],
        empty=False,
        clear="pointerleave",
    )
    values = [tip(f"{column}:N", f"{name} (nats)") for column, name in names.items()]
    opacity = alt.condition(hover, alt.value(0.6), alt.value(0))
    rule = places.encode(opacity=opacity, tooltip=[tip("step:Q", None, ",d"), *values])
    return rule.mark_rule(color=HUES.cursor).add_params(hover)


def losses_chart(
    runs: Mapping[str, Sequence[tuple[int, Evaluation]]],
    known: Mapping[str, float],
    *,
    height: int | None = None,
) -> Drawing:
    """Draw the test losses of several runs, one line each, with known losses in grey.

    `runs` has the tests of each run by step, and `known` the losses by name.
    """
    tests = [series_table(name, *_numbers_of(each)) for name, each in runs.items()]
    ends = (0, max((step for each in runs.values() for step, _ in each), default=0))
    return lines_chart(
        pd.concat(tests),
        level_table({f"{name} {nats:.3f}": nats for name, nats in known.items()}, ends),
        x=Scale("step", ",d", labels=",d"),
        y=Scale("test loss (nats)", ".4f", zero=False),
        series=distinct(runs),
        look="line",
        noun="run",
        height=height,
    )


def _numbers_of(tests: Sequence[tuple[int, Evaluation]]) -> tuple[list[float], ...]:
    return (
        [step for step, _ in tests],
        [test.nll for _, test in tests],
        [test.nll_stderr for _, test in tests],
    )
