"""Charts of the lessons: positional encodings, softmax scaling and kernel regression.

Each takes a tidy table, whose columns its docstring names.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import altair as alt
import numpy as np

from attnlab.charts.drawing import Chart, Rows, drawn_once, sized
from attnlab.charts.heatmap import heatmap, ramp_legend, shade, side, tip
from attnlab.charts.lines import Series, by_name, top_legend
from attnlab.charts.style import HUES, KNOWN_LINE, SHARES, SIGNED

# The selection that a click on a chart sets.
CLICKED = "clicked"
# Sides in pixels of a path, which fits a phone, and of the plane.
_PATH_SIDE, _PLANE_SIDE = 288, 260
# Narrower bars have no room for their numbers.
_NUMBERED_BAR = 40
_STROKES = top_legend(symbolType="stroke", symbolStrokeWidth=3)


def _by_series(channel: type[Any], series: Sequence[Series], **more: Any) -> Any:
    """Return the colours or dashes of series as a channel of the column `series`."""
    values = [one.colour if channel is alt.Color else list(one.dash) for one in series]
    return by_name(channel, "series", [one.name for one in series], values, **more)


@drawn_once
def component_chart(table: Rows, *, domain: tuple[float, float]) -> Chart:
    """Draw one line per component, from the first (strong) to the last (faint).

    The table has `position`, `component`, `value`, and the label `name` of some points.
    """
    base = alt.Chart(table).encode(
        x=alt.X("position:Q", axis=alt.Axis(tickMinStep=1, grid=False)),
        y=alt.Y("value:Q", title="component", scale=alt.Scale(domain=list(domain))),
        tooltip=[tip("position:Q"), tip("component:Q"), tip("value:Q", None, ".4f")],
    )
    scale = alt.Scale(range=[SHARES.high, SHARES.middle])
    legend = ramp_legend(tickMinStep=1, form="d")
    colour = alt.Color("component:Q", scale=scale, legend=legend)
    names = base.mark_text(dy=-8, fontSize=11, fontWeight="bold", color=HUES.truth)
    return alt.layer(
        base.mark_line(strokeWidth=1.6).encode(color=colour, detail="component:N"),
        names.encode(text="name:N"),
    )


@drawn_once
def path_chart(table: Rows, *, domain: tuple[float, float], x_title: str, y_title: str) -> Chart:
    """Draw two components, `x` and `y`, as a path over `position`, with the label `name` of some.

    Both axes have the same scale, so that a circle is a circle.
    """
    # A margin for the labels of the outermost points.
    padded = alt.Scale(domain=list(domain), padding=14)
    base = alt.Chart(table).encode(
        x=alt.X("x:Q", title=x_title, scale=padded),
        y=alt.Y("y:Q", title=y_title, scale=padded),
        order="position:Q",
    )
    scale = alt.Scale(range=[SHARES.middle, SHARES.high])
    points = base.encode(
        color=alt.Color("position:Q", scale=scale, legend=None),
        tooltip=[tip("position:Q"), tip("x:Q", x_title, ".4f"), tip("y:Q", y_title, ".4f")],
    )
    path = alt.layer(
        base.mark_line(color=HUES.training, strokeWidth=1),
        points.mark_point(filled=True, size=40, opacity=1),
        base.mark_text(dx=9, dy=-8, color=HUES.truth).encode(text="name:N"),
    )
    return sized(path, _PATH_SIDE, _PATH_SIDE)


@drawn_once
def distribution_chart(table: Rows, *, series: tuple[Series, ...]) -> Chart:
    """Draw histograms as filled steps, with normal densities of the theoretical variances.

    The table has `density` and `normal` by `series` and `centres` of bins.
    """
    base = alt.Chart(table).encode(x=alt.X("centres:Q", title="score: q · k, scaled or not"))
    y = partial(alt.Y, title="share of the draws per unit")
    colour = _by_series(alt.Color, series, legend=_STROKES)
    dash = _by_series(alt.StrokeDash, series, legend=_STROKES)
    tooltip = [
        tip("series:N", "scores"),
        tip("centres:Q", "score", ".3g"),
        tip("density:Q", "drawn", ".3f"),
        tip("normal:Q", "normal distribution", ".3f"),
    ]
    area = base.encode(y=y("density:Q", stack=None), color=colour)
    line = base.encode(y=y("density:Q"), color=colour, strokeDash=dash, tooltip=tooltip)
    return alt.layer(
        area.mark_area(interpolate="step", opacity=0.35),
        line.mark_line(interpolate="step", strokeWidth=1.5),
        base.encode(y=y("normal:Q"), detail="series:N").mark_line(**KNOWN_LINE),
    )


@drawn_once
def softmax_chart(
    table: Rows, *, keys: int, colour: str = HUES.learned, has_ticks: bool = True
) -> Chart:
    """Draw the `weight` of each `key` as a bar, and its weight `at_one` as a grey tick.

    `at_one`, which is only needed for ticks, is at temperature 1, and `logit` a text.
    """
    axis = alt.Axis(labelAngle=0, labelOverlap=True, titleColor=HUES.key)
    ticks = [tip("at_one:Q", "at temperature 1", ".4f")] * has_ticks
    base = alt.Chart(table).encode(
        x=alt.X("key:O", axis=axis),
        tooltip=[tip("key:O"), tip("logit:N"), tip("weight:Q", None, ".4f"), *ticks],
    )
    # Above 1 there is room for a number.
    scale, percent = alt.Scale(domain=[0, 1.12], nice=False), alt.Axis(format="%", tickCount=5)
    y = partial(alt.Y, title="weight", scale=scale, axis=percent)
    weight = base.encode(y=y("weight:Q"))
    layers = [weight.mark_bar(color=colour)]
    if has_ticks:
        tick = base.encode(y=y("at_one:Q"))
        layers.append(tick.mark_tick(color=HUES.truth, thickness=3, bandSize=26))
    number = weight.transform_filter("datum.weight >= 0.0005").mark_text(
        baseline="bottom",
        dy=-4,
        fontSize=12,
        color=HUES.truth,
        opacity=alt.ExprRef(f"width < {_NUMBERED_BAR * keys} ? 0 : 1"),
    )
    return alt.layer(*layers, number.encode(text=alt.Text("weight:Q", format=".1%")))


@drawn_once
def training_chart(
    table: Rows,
    *,
    title: str,
    last_step: int,
    widths: tuple[int, ...],
    series: tuple[Series, ...],
    logarithmic: bool,
) -> Chart:
    """Draw `value` over `step`, one line for each of the `series` and `d_attn`.

    The widest is strongest. A logarithmic axis has no 0, so step 0 is drawn at 0.5. The table also
    has the standard `error`.
    """
    strength = alt.Scale(domain=list(widths), range=list(np.linspace(0.3, 1, len(widths))))
    lines = alt.Chart(table).transform_calculate(place="max(datum.step, 0.5)")
    return lines.mark_line(strokeWidth=1.8, point=alt.OverlayMarkDef(size=16)).encode(
        x=alt.X(
            "place:Q",
            title="step (log scale, from step 0)",
            scale=alt.Scale(type="log", domain=[0.5, last_step], nice=False),
            axis=alt.Axis(format="~s", labelOverlap=True, tickCount=4),
        ),
        y=alt.Y(
            "value:Q",
            title=title,
            scale=alt.Scale(type="log") if logarithmic else alt.Scale(zero=True),
            axis=alt.Axis(format="~g"),
        ),
        color=_by_series(alt.Color, series, legend=_STROKES),
        strokeDash=_by_series(alt.StrokeDash, series),
        opacity=alt.Opacity("d_attn:O", scale=strength, legend=None),
        tooltip=[
            tip("series:N", "scores"),
            tip("d_attn:O"),
            tip("step:Q", None, ",d"),
            tip("value:Q", title, ".4f"),
            tip("error:Q", "± standard error", ".4f"),
        ],
    )


@drawn_once
def reached_chart(
    table: Rows, *, last_step: int, widths: tuple[int, ...], series: tuple[Series, ...]
) -> Chart:
    """Draw the `step` at which each `seed` reached the target, by `series` and `d_attn`.

    Runs that are "not reached" in the column `reached` are open triangles.
    """
    kinds, shapes = ("reached", "not reached"), ("circle", "triangle-up")
    names = [one.name for one in series]
    points = alt.Chart(table).transform_calculate(place="max(datum.step, 0.5)")
    return points.mark_point(size=70, strokeWidth=2).encode(
        x=side(alt.X, "d_attn", "d_attn", widths),
        xOffset=alt.XOffset("series:N", scale=alt.Scale(domain=names)),
        y=alt.Y(
            "place:Q",
            title="steps to the target (log scale)",
            scale=alt.Scale(type="log", domainMax=last_step * 1.3, nice=False),
            axis=alt.Axis(format="~s"),
        ),
        color=_by_series(alt.Color, series, legend=top_legend(symbolType="circle")),
        shape=by_name(alt.Shape, "reached", kinds, shapes, legend=None),
        tooltip=[
            tip("series:N"),
            tip("d_attn:O"),
            tip("seed:O"),
            tip("step:Q", None, ",d"),
            tip("reached:N"),
        ],
    )


@drawn_once
def gap_map_chart(
    table: Rows, *, widths: tuple[int, ...], gains: tuple[str, ...], most: float
) -> Chart:
    """Draw the final gap, `value` ± `error`, as a heatmap by `d_attn` and `gain`.

    Colours follow its square root, from 0 to `most` nats.
    """
    ends = {"values": (0, most / 4, most), "form": ".2g", "length": 120, "type": "sqrt"}
    return heatmap(
        table,
        x=side(alt.X, "d_attn", "d_attn →", widths),
        y=side(alt.Y, "gain", "init gain of W_Q, W_K", gains[::-1]),
        colour=shade("value", "final gap (nats)", SHARES, (0, most), **ends),
        tooltip=[
            tip("d_attn:O"),
            tip("gain:O", "init gain"),
            tip("value:Q", "gap (nats)", ".4f"),
            tip("error:Q", "± standard error", ".4f"),
        ],
        number=alt.Text("value:Q", format=".3f"),
        strong=f"datum.value > {most / 3}",
    )


def _clicked(field: str) -> alt.Parameter:
    """Return a Vega selection of the row nearest to a click."""
    return alt.selection_point(
        name=CLICKED, fields=[field], nearest=True, on="click", clear=False, empty=False
    )


@drawn_once
def fit_chart(
    fit: Rows,
    points: Rows,
    *,
    x_domain: tuple[float, float],
    y_domain: tuple[float, float],
    largest: float,
) -> Chart:
    """Draw data, truth and fit, with the weight of each data point as a bar at the bottom.

    `fit` has `x`, `fit` and `truth` by `place` on the curve; the query is `chosen`. `points` have
    `x`, `y` and `weight`; `largest` is the largest weight. A click selects a `place`.
    """
    x = alt.X("x:Q", scale=alt.Scale(domain=list(x_domain), nice=False))
    y = partial(alt.Y, title="y", scale=alt.Scale(domain=list(y_domain), nice=False))
    curve = alt.Chart(fit).encode(x=x)
    here, fitted = curve.transform_filter("datum.chosen"), curve.encode(y=y("fit:Q"))
    data = alt.Chart(points).encode(
        x=x,
        y=y("y:Q"),
        tooltip=[tip("x:Q", None, ".4g"), tip("y:Q", None, ".4g"), tip("weight:Q", None, ".4f")],
    )
    nearest = fitted.encode(
        tooltip=[tip(f"{each}:Q", None, ".4g") for each in ("x", "fit", "truth")]
    )
    picture = alt.layer(
        curve.encode(y=y("truth:Q")).mark_line(clip=True, **KNOWN_LINE),
        data.mark_point(color=HUES.sampled, filled=True, size=45, opacity=0.9),
        fitted.mark_line(color=HUES.learned, strokeWidth=2.5, clip=True),
        here.mark_rule(color=HUES.query, strokeWidth=2),
        here.encode(y=y("fit:Q")).mark_point(color=HUES.query, filled=True, size=120, opacity=1),
        nearest.mark_point(size=60, opacity=0).add_params(_clicked("place")),
    )
    # Three times the largest weight, so that the bars stay in the lowest third of the chart.
    scale = alt.Scale(domain=[0, max(3 * largest, 1e-6)], nice=False)
    axis = alt.Axis(orient="right", titleColor=HUES.key, format=".2~g", tickCount=5)
    bars = alt.Chart(points).encode(
        x=x, y=alt.Y("weight:Q", title="weight of the point (share)", scale=scale, axis=axis)
    )
    rules = bars.encode(y2=alt.Y2Datum(0)).mark_rule(strokeWidth=4, color=HUES.key, opacity=0.75)
    return alt.layer(picture, rules).resolve_scale(y="independent")


@drawn_once
def plane_chart(table: Rows) -> Chart:
    """Draw data points by `first` and `second`, sized by `relative` weight and coloured by `y`.

    The `chosen` one is ringed; triangles point down where y is below 0. A click selects a `point`.
    """
    unit, size = alt.Scale(domain=[0, 1]), alt.Scale(domain=[0, 1], range=[14, 320])
    base = alt.Chart(table).encode(
        x=alt.X("first:Q", title="feature 1", scale=unit),
        y=alt.Y("second:Q", title="feature 2", scale=unit),
    )
    shapes = by_name(
        alt.Shape, "sign", ("y below 0", "y from 0 up"), ("triangle-down", "triangle-up"),
        # Without a second legend, which would make the chart narrower.
        legend=None,
    )  # fmt: skip
    points = base.transform_calculate(sign="datum.y < 0 ? 'y below 0' : 'y from 0 up'").encode(
        size=alt.Size("relative:Q", scale=size, legend=None),
        color=shade("y", "y", SIGNED, (-1.2, 1.2), values=(-1, 0, 1), length=120),
        shape=shapes,
        tooltip=[
            tip("point:O"),
            tip("first:Q", "feature 1", ".3f"),
            tip("second:Q", "feature 2", ".3f"),
            tip("y:Q", None, ".3f"),
            tip("weight:Q", None, ".4f"),
        ],
    )
    ring = base.transform_filter("datum.chosen").mark_point(
        size=420, color=HUES.query, strokeWidth=3, filled=False, opacity=1
    )
    marks = points.mark_point(filled=True, opacity=0.9, stroke=HUES.truth, strokeWidth=0.7)
    plane = alt.layer(marks.add_params(_clicked("point")), ring)
    return sized(plane, _PLANE_SIDE, _PLANE_SIDE)
