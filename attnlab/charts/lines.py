"""Charts of quantities against a number: lines, bands, and points with error bars."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from attnlab.charts.drawing import Chart, Rows, drawn_once
from attnlab.charts.heatmap import tip
from attnlab.charts.style import HUES, KNOWN_LINE, past_hue

# Shapes and dashes distinguish series too, for colour-blind readers.
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
_DASHES = ((1, 0), (9, 3), (2, 2), (9, 3, 2, 3), (2, 5), (14, 4), (5, 2))
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


def series_table(
    name: str,
    at: _Numbers,
    values: _Numbers,
    stderr: _Numbers | None = None,
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
        form: The format in tooltips.
        labels: The format of the labels, by default that of Vega.
        kind: "linear", "log" or "ordinal".
        domain: The ends, by default those of the data.
        ticks: Powers of two to label on a logarithmic axis, which ends at the outermost.
        zero: Whether a linear axis without a `domain` includes 0.
    """

    title: str
    form: str = ""
    labels: str = ""
    kind: str = "linear"
    domain: tuple[float, float] | None = None
    ticks: tuple[float, ...] = ()
    zero: bool = True

    def axis(self, channel: type[Any], field: str) -> Any:
        """Return the channel `alt.X` or `alt.Y` of a column."""
        if self.kind == "ordinal":
            axis = alt.Axis(labelAngle=0, labelOverlap=True)
            return channel(f"{field}:O", title=self.title, axis=axis)
        look = {"labelOverlap": True, **({"format": self.labels} if self.labels else {})}
        if self.labels.endswith("d"):
            look["tickMinStep"] = 1
        scale: dict[str, Any] = {"zero": self.zero}
        if self.kind == "log":
            scale, look["tickCount"] = {"type": "log", "nice": False, "padding": 8}, 6
        if self.ticks:
            ends = [min(self.ticks), max(self.ticks)]
            scale = {"type": "log", "base": 2, "domain": ends, "nice": False}
            look["values"] = list(self.ticks)
        elif self.domain is not None:
            scale = {"type": self.kind, "domain": list(self.domain), "nice": False, "clamp": True}
        more = {"title": self.title, "scale": alt.Scale(**scale), "axis": alt.Axis(**look)}
        return channel(f"{field}:Q", **more)


class Series(NamedTuple):
    """The look of a series: the name in the table, colour, shape of its points, and dashes."""

    name: str = ""
    colour: str = HUES.learned
    shape: str = "circle"
    dash: tuple[int, ...] = (1, 0)


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
    *,
    x: Scale,
    y: Scale,
    series: tuple[Series, ...] = (Series(),),
    look: str = "points",
    noun: str = "series",
    tips: tuple[tuple[str, str, str], ...] = (ERROR,),
    below: bool = False,
) -> Chart:
    """Draw `value` against `at` for each series, known values in grey, and vertical rules.

    Args:
        table: One row per point, as returned by `series_table`.
        known: Known values, as returned by `level_table`: dashed lines with their names.
        rules: The places `at` of vertical rules, each with a `name`.
        x: The horizontal axis.
        y: The vertical axis.
        series: The series; one without a name has no legend.
        look: "points" for points with bars from `low` to `high` and a faint line, "dots" for these
            without the line, "line" for a strong line, or "band" for it with a band.
        noun: What a series is, for the tooltip.
        tips: Further columns of the tooltip, each with its title and format.
        below: Whether the names of known values are below their lines.
    """
    across, names = x.axis(alt.X, "at"), [each.name for each in series]
    stroke = {} if look in ("points", "dots") else {"symbolType": "stroke", "symbolSize": 300}
    legend = top_legend(columns=2, labelLimit=300, **stroke) if any(names) else None
    of_series = partial(by_name, field="series", names=names, legend=legend)
    colour = of_series(alt.Color, values=[each.colour for each in series])
    base = alt.Chart(table).encode(x=across, color=colour)
    at = base.encode(y=y.axis(alt.Y, "value"))
    tooltip = [
        *[tip("series:N", noun)] * any(names),
        tip(str(across.shorthand), x.title, x.form or None),
        tip("value:Q", y.title, y.form or None),
        *(tip(f"{column}:Q", title, form) for column, title, form in tips),
    ]
    span = base.encode(y=y.axis(alt.Y, "low"), y2="high:Q")
    if look in ("points", "dots"):
        shape = of_series(alt.Shape, values=[each.shape for each in series])
        points = at.encode(shape=shape, tooltip=tooltip)
        layers = [
            *[at.mark_line(strokeWidth=1.2, opacity=0.5, clip=True)] * (look == "points"),
            span.mark_rule(strokeWidth=2, clip=True),
            points.mark_point(filled=True, size=55, opacity=1),
        ]
    else:
        dash = of_series(alt.StrokeDash, values=[list(each.dash) for each in series])
        width = 1.8 if look == "band" else 2.5
        # A tooltip of the line itself would always have the values of its first point.
        dots = at.encode(tooltip=tooltip).mark_point(
            filled=True, size=50, opacity=float(x.kind == "ordinal")
        )
        layers = [
            *[span.mark_area(opacity=0.25, clip=True)] * (look == "band"),
            at.encode(strokeDash=dash).mark_line(strokeWidth=width),
            dots,
        ]
    if known is not None:
        levels = alt.Chart(known).encode(x=across, y=y.axis(alt.Y, "level"))
        name = levels.transform_filter("datum.end").encode(text="name:N", detail="name:N")
        place = {"baseline": "top", "dy": 3} if below else {"baseline": "bottom", "dy": -3}
        layers = [
            levels.encode(detail="name:N").mark_line(clip=True, **KNOWN_LINE),
            name.mark_text(align="right", dx=-4, color=HUES.truth, **place),
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
