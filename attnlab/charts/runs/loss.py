"""The loss of runs against their steps, with what is known of the process beside it."""

import bisect
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import altair as alt
import pandas as pd

from attnlab.charts.core.colours import hues
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.comparisons.intervals import FEWEST_FOR_BAND, CurveOverSeeds
from attnlab.configuration.number_text import show_measured
from attnlab.optimum import Best
from attnlab.runs.history import History, loss_curve
from attnlab.training.evaluation import Evaluation

HOVER = "hover"
_TRAIN, _TEST, _TRUTH = "training", "test", "known"
_CURSOR, _CHANGE, _PLACE = "shown step", "change", "place"
_SEEDS, _EACH = "mean over seeds", "each seed"
# More lines of single seeds would hide their mean.
_MOST_SEEDS = 10
_PAST_OPACITY = 0.4
# Pixels in the legend: of a line with the room around it, and of a wide letter.
_LEGEND_LINE, _LEGEND_LETTER = 30, 7
# Earlier runs differ by more than their colour; the truth alone has even dashes.
_PAST_DASHES = ([9, 2], [2, 2], [9, 2, 2, 2], [2, 5], [14, 3])


class PastCurve(NamedTuple):
    """The test loss of an earlier run, in nats by step, under its name and in its colour."""

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
    """Rows of the chart: series, step, nats, a label; and what stands at each tested step.

    Training losses are batch means before the update of their step; test losses follow it.
    `known` are losses that do not depend on the run, such as that of a uniform guess and the
    floor, by name; those that are estimated are labelled with their errors. `seeds` is the mean
    test loss of runs with these settings and other seeds. A row of the series `place` holds the
    texts of all curves at its step, for the tooltip.
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
            **{_told(i): _texts_at(curve.tests, tests) for i, curve in enumerate(past)},
        }
    )
    table = pd.concat([pd.DataFrame(part) for part in parts if len(part["step"])])
    texts = [_TEST, _TRAIN, *map(_told, range(len(past)))]
    band = [] if seeds is None else ["low", "high"]
    numbers = ["step", "nats", *band]
    table = table.reindex(columns=["series", *numbers, "label", *texts])
    return table.reset_index(drop=True).astype(dict.fromkeys(numbers, float))


def _told(place: int) -> str:
    """The column of the texts of an earlier run, whose name may mean something else to a chart."""
    return f"told of {place}"


def _texts_at(tests: Sequence[tuple[int, float]], steps: Iterable[int]) -> list[str | None]:
    return [_text_at(tests, step) for step in steps]


def _text_at(points: Sequence[tuple[int, float]], step: int) -> str | None:
    """The value at a step or, with its own step, at the last one before it."""
    place = bisect.bisect_right(points, step, key=lambda point: point[0]) - 1
    if place < 0:
        return None
    at, nats = points[place]
    return f"{nats:.4f}" if at == step else f"{nats:.4f} (step {at:,})"


# While one loss alone is known, Vega labels it with all its digits.
_NATS = "length(datum.label) > 6 ? format(datum.value, '.4r') : datum.label"


@drawn_once
def loss_chart(
    table: Rows,
    *,
    last_step: int,
    dark: bool,
    height: int,
    past: tuple[tuple[str, str], ...] = (),
    logarithmic: bool = False,
    seeds: bool = False,
) -> alt.LayerChart:
    """Training and test loss in nats; what is known dashed; the shown step as an upright line.

    With `seeds`, the table has a curve over seeds: each, their mean, and its interval.

    `past` are the names and colours of earlier runs, which are thinner and paler. Only `table` may
    change from picture to picture: everything else is fixed by the length of the run and the runs
    before it, so that a browser moves the lines without drawing the chart anew. The selection
    `hover` is the tested step nearest to the pointer.
    """
    hue, dashes = hues(dark=dark), itertools.cycle(_PAST_DASHES)
    past = ((_SEEDS, hue.query), *past) if seeds else past
    series = [_TRAIN, _TEST, _TRUTH, *(name for name, _ in past)]
    runs = past[seeds:]
    told = {_TRAIN: _TRAIN, _TEST: _TEST, **{_told(i): name for i, (name, _) in enumerate(runs)}}
    wide = _LEGEND_LINE + _LEGEND_LETTER * max(map(len, told.values()))
    colours = [hue.training, hue.learned, hue.truth, *(colour for _, colour in past)]
    colour = alt.Color(
        "series:N",
        title=None,
        scale=alt.Scale(domain=series, range=colours),
        legend=alt.Legend(
            orient="top",
            symbolType="stroke",
            symbolStrokeWidth=3,
            symbolSize=300,
            offset=2,
            padding=0,
            # As many beside each other as fit, so that none is cut.
            columns=alt.ExprRef(f"max(1, floor(width / {wide}))"),
        ),
    )
    dash = alt.StrokeDash(
        "series:N",
        title=None,
        scale=alt.Scale(
            domain=series,
            range=[[1, 0], [1, 0], [5, 4], *(next(dashes) for _ in past)],
        ),
    )
    # Step 0 has its place on the logarithmic axis, too.
    kind = {"type": "symlog"} if logarithmic else {}
    ticks = {"values": _decades(last_step)} if logarithmic else {"tickMinStep": 1}
    step = alt.X(
        "step:Q",
        title="step",
        scale=alt.Scale(domain=[0, last_step], nice=False, **kind),
        # On the line of its numbers, which leaves the height to the curves.
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

    def loss(field: str) -> alt.Y:
        axis = alt.Axis(labelExpr=_NATS)
        return alt.Y(field, title="loss (nats)", scale=alt.Scale(zero=False, nice=True), axis=axis)

    nats = loss("nats:Q")
    upright = alt.Chart(table).encode(x=step)
    base = upright.encode(y=nats, color=colour, strokeDash=dash)

    def labels(side: str, wanted: str) -> alt.Chart:
        return (
            upright.encode(y=nats, text="label:N")
            .transform_filter((alt.datum.series == _TRUTH) & (alt.datum.step > 0))
            .transform_filter(wanted)
            .mark_text(
                align="right",
                baseline="top" if side == "below" else "bottom",
                dx=-4,
                dy=3 if side == "below" else -3,
                color=hue.truth,
                aria=False,
            )
        )

    is_test, is_training = alt.datum.series == _TEST, alt.datum.series == _TRAIN
    is_past = alt.FieldOneOfPredicate("series", [name for name, _ in runs])
    width = alt.when(is_test).then(alt.value(2.5)).otherwise(alt.value(1.4))
    opacity = (
        alt.when(is_past)
        .then(alt.value(_PAST_OPACITY))
        .when(is_training)
        .then(alt.value(0.6))
        .otherwise(alt.value(1))
    )
    # One layer, since one of training alone would be empty at first and have no extent.
    lines = (
        base.transform_filter(alt.FieldOneOfPredicate("series", series))
        .mark_line(aria=False)
        .encode(detail="label:N", strokeWidth=width, opacity=opacity)
    )
    is_floor = "(indexof(datum.label, 'floor') == 0)"
    over_seeds = [
        upright.transform_filter((alt.datum.series == _SEEDS) & "isValid(datum.low)")
        .mark_area(color=hue.query, opacity=0.2, aria=False)
        .encode(y=loss("low:Q"), y2="high:Q"),
        upright.transform_filter(alt.datum.series == _EACH)
        .mark_line(color=hue.query, strokeWidth=0.8, opacity=0.5, aria=False)
        .encode(y=nats, detail="label:N"),
    ] * seeds
    return alt.layer(
        *over_seeds,
        lines,
        # On either side of their lines, so that they can be read where the lines meet.
        labels("above", f"!{is_floor}"),
        labels("below", is_floor),
        _changes(upright, hue.cursor),
        upright.transform_filter(alt.datum.series == _CURSOR).mark_rule(
            color=hue.cursor, strokeWidth=2, aria=False
        ),
        _places(upright, hue.cursor, told),
    ).properties(height=height, padding={"left": 0, "top": 0, "right": 16, "bottom": 4})


def _decades(last_step: int) -> list[int]:
    return [0, *(10**power for power in range(len(str(last_step))) if 10**power <= last_step)]


def _changes(upright: alt.Chart, colour: str) -> alt.LayerChart:
    """Marks where a setting was changed without beginning again."""
    changes = upright.transform_filter(alt.datum.series == _CHANGE)
    return changes.mark_rule(color=colour, strokeDash=[2, 2], aria=False) + changes.mark_text(
        text="✎", color=colour, baseline="top", dx=8, fontSize=13, aria=False
    ).encode(y=alt.value(0), tooltip=[alt.Tooltip("label:N", title="changed"), "step:Q"])


def _places(upright: alt.Chart, colour: str, told: Mapping[str, str]) -> alt.Chart:
    """An upright line at the tested step nearest to the pointer, which tells of every curve."""
    hover = alt.selection_point(
        name=HOVER,
        nearest=True,
        on="pointermove",
        fields=["step"],
        empty=False,
        clear="pointerleave",
    )
    return (
        upright.transform_filter(alt.datum.series == _PLACE)
        .mark_rule(color=colour, aria=False)
        .encode(
            opacity=alt.condition(hover, alt.value(0.6), alt.value(0)),
            tooltip=[
                alt.Tooltip("step:Q", format=",d"),
                *(alt.Tooltip(f"{one}:N", title=f"{name} (nats)") for one, name in told.items()),
            ],
        )
        .add_params(hover)
    )
