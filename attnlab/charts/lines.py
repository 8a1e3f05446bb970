"""Lines and points with error bars, and the parts that other charts share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from attnlab.charts.drawing import Chart, Rows, drawn_once
from attnlab.charts.heatmap import tip
from attnlab.charts.style import HUES, KNOWN_LINE

SCALED, UNSCALED = "with 1/√d", "without"


def by_name(
    channel: type[Any], field: str, names: Iterable[str | int], values: Iterable[Any], **more: Any
) -> Any:
    """Return an Altair channel, such as colour, that gives each of the `names` its value."""
    scale = alt.Scale(domain=list(names), range=list(values))
    return channel(f"{field}:N", **{"title": None, "scale": scale} | more)


def top_legend(**more: Any) -> alt.Legend:
    """Return a legend above the chart."""
    return alt.Legend(orient="top", symbolOpacity=1, **more)


def measured(
    base: alt.Chart,
    y: Callable[[str], alt.Y],
    value: str,
    tooltip: Sequence[alt.Tooltip],
    *,
    joined: bool = True,
    shape: Any = alt.Undefined,
    clip: bool = False,
    **look: Any,
) -> list[alt.Chart]:
    """Return layers with a point at `value`, a bar from `low` to `high`, and a faint line."""
    at = base.encode(y=y(f"{value}:Q"))
    line = at.mark_line(strokeWidth=1.2, opacity=0.5, clip=clip, **look)
    rule = base.encode(y=y("low:Q"), y2="high:Q").mark_rule(strokeWidth=2, clip=True, **look)
    point = at.encode(shape=shape, tooltip=list(tooltip))
    point = point.mark_point(filled=True, size=55, opacity=1, clip=clip, **look)
    return [line, rule, point] if joined else [rule, point]


def known_levels(base: alt.Chart, name: str, end: str) -> list[alt.Chart]:
    """Return layers with known levels as dashed grey lines, labelled where `end` is true."""
    named = base.transform_filter(end).encode(text=f"{name}:N", detail=f"{name}:N")
    return [
        base.encode(detail=f"{name}:N").mark_line(clip=True, **KNOWN_LINE),
        named.mark_text(align="right", baseline="bottom", dx=-4, dy=-3, color=HUES.truth),
    ]


def series_table(
    name: str,
    at: Sequence[int] | Int[np.ndarray, " points"],
    values: Float[np.ndarray, " points"],
    stderr: Float[np.ndarray, " points"],
) -> pd.DataFrame:
    """Return a table with one row per point of one series, ± one standard error."""
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
    levels: Mapping[str, float | Float[np.ndarray, " points"]], at: Sequence[int]
) -> pd.DataFrame:
    """Return a table of known levels or curves, with one row per name and value of `at`."""
    parts = [
        pd.DataFrame({"name": name, "at": at, "level": value}) for name, value in levels.items()
    ]
    return pd.concat(parts, ignore_index=True)


@drawn_once
def series_chart(
    table: Rows,
    known: Rows | None,
    *,
    series: tuple[str, ...] = (SCALED, UNSCALED),
    x_title: str,
    y_title: str,
    y_domain: tuple[float, float] | None,
    ticks: Sequence[int],
    logarithmic: bool = False,
    lines: bool = True,
) -> Chart:
    """Draw points with error bars against a logarithmic axis; known values are dashed grey lines.

    `series` are the names of the series in the table.
    """
    x = alt.X(
        "at:Q",
        title=x_title,
        scale=alt.Scale(type="log", base=2, domain=[min(ticks), max(ticks)], nice=False),
        axis=alt.Axis(values=list(ticks), format="d", labelOverlap=True),
    )
    bounds = {} if y_domain is None else {"domain": list(y_domain), "nice": False}
    scale = alt.Scale(**({"type": "log"} if logarithmic else {}), **bounds)
    axis = alt.Axis(format="~g") if logarithmic else alt.Axis()
    y = partial(alt.Y, title=y_title, scale=scale, axis=axis)
    looks = {SCALED: (HUES.learned, "circle"), UNSCALED: (HUES.cursor, "square")}
    colours, shapes = zip(*(looks[name] for name in series), strict=True)
    colour = by_name(alt.Color, "series", series, colours, legend=top_legend())
    layers = measured(
        alt.Chart(table).encode(x=x, color=colour),
        y,
        "value",
        [
            tip("series:N", "scores"),
            tip("at:Q", x_title, "d"),
            tip("value:Q", y_title, ".4g"),
            tip("error:Q", "± standard error", ".2g"),
        ],
        joined=lines,
        clip=True,
        shape=by_name(alt.Shape, "series", series, shapes),
    )
    if known is not None:
        levels = alt.Chart(known).encode(x=x, y=y("level:Q"))
        layers = known_levels(levels, "name", f"datum.at === {max(ticks)}") + layers
    return alt.layer(*layers)
