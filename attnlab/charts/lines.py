"""Charts of quantities against a number: lines, bands, and points with error bars."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from attnlab.charts.drawing import Chart, Drawing, Rows, drawn_once
from attnlab.charts.heatmap import tip
from attnlab.charts.style import HUES, KNOWN_LINE, REFERENCE, past_hue

# Shapes and dashes distinguish series too, for colour-blind readers.
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
_DASHES = ((1, 0), (9, 3), (2, 2), (9, 3, 2, 3), (2, 5), (14, 4), (5, 2))
# Pixels of a legend's symbol with the space around it, and of a letter of its labels.
_SYMBOL, _LETTER = 32, 7
# This share of an axis is no distance from its end.
_ROUNDING = 1e-6
_Numbers = Sequence[float] | Float[np.ndarray, " points"] | Int[np.ndarray, " points"]
# The last column of most tooltips.
ERROR = ("error", "± standard error", ".4f")


def by_name(
    channel: type[Any], field: str, names: Iterable[str | int], values: Iterable[Any], **more: Any
) -> Any:
    """Return an Altair channel, such as colour, that gives each of the `names` its value."""
    scale = alt.Scale(domain=list(names), range=list(values))
    return channel(f"{field}:N", **{"title": None, "scale": scale} | more)


def top_legend(**more: Any) -> alt.Legend:
    """Return a legend above the chart."""
    return alt.Legend(orient="top", symbolOpacity=1, **more)


def legend_columns(names: Sequence[str]) -> alt.ExprRef:
    """Return as many columns of a legend with these names as the chart has room for."""
    columns = "1"
    for count in range(2, len(names) + 1):
        longest = (max(map(len, names[at::count])) for at in range(count))
        wide = sum(_SYMBOL + _LETTER * letters for letters in longest)
        columns = f"width > {wide} ? {count} : {columns}"
    return alt.ExprRef(columns)


def series_table(
    name: str, at: _Numbers, values: _Numbers, stderr: _Numbers | None = None
) -> pd.DataFrame:
    """Return a table for `lines_chart` with one row per point, ± one standard error if known."""
    values = np.asarray(values, np.float64)
    stderr = np.full(len(values), np.nan) if stderr is None else np.asarray(stderr, np.float64)
    error = np.nan_to_num(stderr)
    return pd.DataFrame(
        {
            "series": name,
            "at": np.asarray(at),
            "value": values,
            "error": stderr,
            "low": values - error,
            "high": values + error,
        }
    )


def level_table(
    levels: Mapping[str, float | Float[np.ndarray, " points"]], at: _Numbers
) -> pd.DataFrame:
    """Return a table of known levels or curves, with one row per name and value of `at`.

    `end` is true at the last value, where the name is drawn.
    """
    end = np.arange(len(at)) == len(at) - 1
    parts = [
        pd.DataFrame({"name": name, "at": at, "level": value, "end": end & bool(name)})
        for name, value in levels.items()
    ]
    empty = pd.DataFrame([], columns=["name", "at", "level", "end"])
    return pd.concat(parts, ignore_index=True) if parts else empty


class Scale(NamedTuple):
    """An axis: its title, the format of its numbers in tooltips, and its scale.

    Attributes:
        title: The title of the axis.
        form: The format in tooltips, which leave out a number without one.
        labels: The format of the labels, by default that of Vega.
        kind: "linear", "log" or "ordinal".
        domain: The ends, by default those of the data.
        ticks: The values to label. A logarithmic axis has base 2 and ends at the outermost.
        names: Their labels in one or several lines, if not the numbers.
        zero: Whether a linear axis without a `domain` includes 0.
    """

    title: str
    form: str = ""
    labels: str = ""
    kind: str = "linear"
    domain: tuple[float, float] | None = None
    ticks: tuple[float, ...] = ()
    names: tuple[tuple[str, ...], ...] = ()
    zero: bool = True

    def axis(self, channel: type[Any], field: str) -> Any:
        """Return the channel `alt.X` or `alt.Y` of a column."""
        if self.kind == "ordinal":
            axis = alt.Axis(labelAngle=0, labelOverlap=True)
            return channel(f"{field}:O", title=self.title, axis=axis)
        look: dict[str, Any] = {"labelOverlap": not self.names}
        if self.labels:
            look["format"] = self.labels
        if self.labels.endswith("d"):
            look["tickMinStep"] = 1
        if self.ticks:
            look["values"] = list(self.ticks)
        if self.names:
            at = f"indexof({list(self.ticks)}, datum.value)"
            look["labelExpr"] = f"{json.dumps(self.names, ensure_ascii=False)}[{at}]"
        scale: dict[str, Any] = {"zero": self.zero}
        if self.domain is not None:
            scale = {"type": self.kind, "domain": self.domain, "nice": False, "clamp": True}
        elif self.kind == "log" and self.ticks:
            ends = [min(self.ticks), max(self.ticks)]
            scale = {"type": "log", "base": 2, "domain": ends, "nice": False}
        elif self.kind == "log":
            scale, look["tickCount"] = {"type": "log", "nice": False, "padding": 8}, 6
        more = {"title": self.title, "scale": alt.Scale(**scale), "axis": alt.Axis(**look)}
        return channel(f"{field}:Q", **more)


class Series(NamedTuple):
    """A series: its name in the table, its colour and opacity, shape of its points, and dashes."""

    name: str = ""
    colour: str = HUES.learned
    shape: str = "circle"
    dash: tuple[int, ...] = (1, 0)
    opacity: float = 1


def distinct(names: Iterable[str]) -> tuple[Series, ...]:
    """Return series that differ in colour, shape and dashes."""
    return tuple(
        Series(name, past_hue(at), SHAPES[at % len(SHAPES)], _DASHES[at % len(_DASHES)])
        for at, name in enumerate(names)
    )


@drawn_once
def lines_chart(
    table: Rows,
    known: Rows | None,
    rules: Rows | None,
    each: Rows | None,
    *,
    x: Scale,
    y: Scale,
    series: tuple[Series, ...] = (Series(),),
    look: str = "points",
    noun: str = "series",
    tips: tuple[tuple[str, str, str], ...] = (ERROR,),
    below: bool = False,
    legend_title: str | None = None,
) -> Chart:
    """Draw `value` against `at` for each series, known values in grey, and vertical rules.

    Args:
        table: One row per point, as returned by `series_table`.
        known: Known values, as returned by `level_table`: dashed lines with their names.
        rules: The places `at` of vertical rules, each with a `name`.
        each: Thin lines, one per `series` and `seed`.
        x: The horizontal axis.
        y: The vertical axis.
        series: The series; one without a name has no legend.
        look: "points" for points with bars from `low` to `high` and a faint line, "dots" for these
            without the line, "line" for a strong line, or "band" for it with a band.
        noun: What a series is, for the tooltip.
        tips: Further columns of the tooltip, each with its title and, for numbers, its format.
        below: Whether the names of known values are below their lines.
        legend_title: The title of the legend, by default none.
    """
    across, names = x.axis(alt.X, "at"), [one.name for one in series]
    stroke = {} if look in ("points", "dots") else {"symbolType": "stroke", "symbolSize": 300}
    legend = None
    if any(names):
        legend = top_legend(columns=legend_columns(names), labelLimit=330, **stroke)
    is_ordinal = x.kind == "ordinal"
    of_series = partial(by_name, field="series", names=names, legend=legend, title=legend_title)
    colour = of_series(alt.Color, values=[one.colour for one in series])
    base = alt.Chart(table).encode(x=across, color=colour)
    strengths = [one.opacity for one in series]
    if min(strengths) < 1:
        # Vega-Lite warns of opacities without an order.
        base = base.encode(opacity=of_series(alt.Opacity, values=strengths, sort=names))
    at = base.encode(y=y.axis(alt.Y, "value"))
    tooltip = [
        *[tip("series:N", noun)] * any(names),
        *[tip(str(across.shorthand), x.title, x.form or None)] * bool(x.form or is_ordinal),
        tip("value:Q", y.title, y.form or None),
        *(tip(f"{at}:{'Q' if form else 'N'}", title, form or None) for at, title, form in tips),
    ]
    span = base.encode(y=y.axis(alt.Y, "low"), y2="high:Q")
    # A value beyond a given domain is drawn at its edge, where only an arrow shows that.
    arrows = []
    if y.domain is not None:
        rounding = _ROUNDING * (y.domain[1] - y.domain[0])
        arrows = [
            {"test": f"{sign}(datum.value - {end}) > {rounding}", "value": f"triangle-{way}"}
            for sign, end, way in zip("-+", y.domain, ("down", "up"), strict=True)
        ]
    if look in ("points", "dots"):
        shape = of_series(alt.Shape, values=[one.shape for one in series], condition=arrows)
        points = at.encode(shape=shape, tooltip=tooltip)
        layers = [
            *[at.mark_line(strokeWidth=1.2, opacity=0.5, clip=True)] * (look == "points"),
            span.mark_rule(strokeWidth=2, clip=True),
            points.mark_point(filled=True, size=55, opacity=1),
        ]
    else:
        dash = of_series(alt.StrokeDash, values=[list(one.dash) for one in series])
        width = 1.8 if look == "band" else 2.5
        # A tooltip of the line itself would always have the values of its first point.
        arrow = alt.ShapeValue("circle", condition=arrows)
        seen = alt.OpacityValue(
            float(is_ordinal), condition=[{**each, "value": 1} for each in arrows]
        )
        dots = at.encode(tooltip=tooltip, shape=arrow, opacity=seen).mark_point(
            filled=True, size=50
        )
        layers = [
            *[span.mark_area(opacity=0.25, clip=True)] * (look == "band"),
            at.encode(strokeDash=dash).mark_line(strokeWidth=width),
            dots,
        ]
    if each is not None:
        thin = alt.Chart(each).encode(x=across, y=y.axis(alt.Y, "value"), color=colour)
        layers.insert(0, thin.encode(detail="seed:N").mark_line(strokeWidth=0.8, opacity=0.5))
    if known is not None:
        of_level = alt.when(f"indexof(datum.name, '{REFERENCE}') == 0")
        of_level = of_level.then(alt.value(HUES.reference)).otherwise(alt.value(HUES.truth))
        levels = alt.Chart(known).encode(x=across, y=y.axis(alt.Y, "level"))
        name = levels.transform_filter("datum.end").encode(text="name:N", detail="name:N")
        place = {"baseline": "top", "dy": 3} if below else {"baseline": "bottom", "dy": -3}
        layers = [
            levels.encode(detail="name:N", color=of_level).mark_line(clip=True, **KNOWN_LINE),
            name.encode(color=of_level).mark_text(align="right", dx=-4, **place),
            *layers,
        ]
    if rules is not None:
        rule = alt.Chart(rules).encode(x=across)
        text = rule.encode(text="name:N", y=alt.value(4))
        layers += [
            rule.mark_rule(strokeWidth=1.5, strokeDash=[4, 4], color=HUES.cursor),
            text.mark_text(align="left", dx=4, baseline="top", color=HUES.cursor),
        ]
    return alt.layer(*layers)


def losses_chart(
    runs: Mapping[str, Sequence[tuple[int, float, float]]],
    known: Mapping[str, float],
    *,
    height: int | None = None,
) -> Drawing:
    """Draw the test losses of several runs, one line each, with known losses in grey.

    `runs` has steps, losses and standard errors of each run, and `known` the losses by name.
    """
    tables = [series_table(name, *zip(*tests, strict=True)) for name, tests in runs.items()]
    ends = (0, max(step for tests in runs.values() for step, *_ in tests))
    return lines_chart(
        pd.concat(tables),
        level_table({f"{name} {nats:.3f}": nats for name, nats in known.items()}, ends),
        x=Scale("step", ",d", labels=",d"),
        y=Scale("test loss (nats)", ".4f", zero=False),
        series=distinct(runs),
        look="line",
        noun="run",
        height=height,
    )
