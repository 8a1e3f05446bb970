"""Measured series with their errors, against a width or a step, beside what theory says."""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from attnlab.charts.core.colours import hues
from attnlab.charts.core.drawing import Rows, drawn_once

SCALED, UNSCALED = "with 1/√d", "without"


def series_table(
    name: str,
    at: Sequence[int] | Int[np.ndarray, " points"],
    values: Float[np.ndarray, " points"],
    stderr: Float[np.ndarray, " points"],
) -> pd.DataFrame:
    """A row a point of one series; its bar reaches one standard error to both sides."""
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


def level_table(levels: Mapping[str, float | Float[np.ndarray, " points"]], at: Sequence[int]):
    """Known values by name, a row for each place: a level, or a curve of them."""
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
    dark: bool,
    height: int,
    logarithmic: bool = False,
    lines: bool = True,
) -> alt.LayerChart:
    """Points with error bars on an axis in powers of two; what is known in grey dashes.

    `series` are the names that the table has.
    """
    hue = hues(dark=dark)
    x = alt.X(
        "at:Q",
        title=x_title,
        scale=alt.Scale(type="log", base=2, domain=[min(ticks), max(ticks)], nice=False),
        axis=alt.Axis(values=list(ticks), format="d", labelOverlap=True),
    )
    kind = {"type": "log"} if logarithmic else {}
    bounds = {} if y_domain is None else {"domain": list(y_domain), "nice": False}
    scale = alt.Scale(**kind, **bounds)

    def y(field: str) -> alt.Y:
        axis = alt.Axis(format="~g") if logarithmic else alt.Axis()
        return alt.Y(field, title=y_title, scale=scale, axis=axis)

    colours = {SCALED: hue.learned, UNSCALED: hue.cursor}
    colour = alt.Color(
        "series:N",
        title=None,
        scale=alt.Scale(domain=list(series), range=[colours[name] for name in series]),
        legend=alt.Legend(orient="top", symbolOpacity=1),
    )
    # By its form, too, for those who see no difference of colour.
    forms = {SCALED: "circle", UNSCALED: "square"}
    shapes = alt.Scale(domain=list(series), range=[forms[name] for name in series])
    base = alt.Chart(table).encode(x=x, color=colour)
    layers = []
    if known is not None:
        levels = alt.Chart(known).encode(x=x, y=y("level:Q"), detail="name:N")
        layers.append(
            levels.mark_line(
                color=hue.truth, strokeDash=[5, 4], strokeWidth=1.5, aria=False, clip=True
            )
        )
        named = levels.transform_filter(alt.datum.at == max(ticks)).encode(text="name:N")
        layers.append(
            named.mark_text(
                align="right", baseline="bottom", dx=-4, dy=-5, color=hue.truth, aria=False
            )
        )
    if lines:
        layers.append(
            base.encode(y=y("value:Q")).mark_line(
                strokeWidth=1.2, opacity=0.5, aria=False, clip=True
            )
        )
    layers.append(
        base.encode(y=y("low:Q"), y2="high:Q").mark_rule(strokeWidth=2, aria=False, clip=True)
    )
    layers.append(
        base.encode(
            y=y("value:Q"),
            shape=alt.Shape("series:N", title=None, scale=shapes),
            tooltip=[
                alt.Tooltip("series:N", title="scores"),
                alt.Tooltip("at:Q", title=x_title, format="d"),
                alt.Tooltip("value:Q", title=y_title, format=".4g"),
                alt.Tooltip("error:Q", title="± standard error", format=".2g"),
            ],
        ).mark_point(filled=True, size=55, opacity=1, aria=False, clip=True)
    )
    return alt.layer(*layers).properties(height=height, padding={"right": 16})
