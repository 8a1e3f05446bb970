"""Charts of kernel regression: the fit, and the weights of a query."""

from functools import partial

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.drawing import Chart, Rows, drawn_once, sized
from attnlab.charts.heatmap import shade, tip
from attnlab.charts.style import HUES, KNOWN_LINE, SIGNED

CLICKED = "clicked"
# Side of the plane in pixels, on which a round neighbourhood is round.
_SIDE = 260
# Shapes of points by the sign of y, in addition to colour.
_SIGNS = ("y below 0", "y from 0 up")


def fit_table(
    at: Float[np.ndarray, " queries"],
    fit: Float[np.ndarray, " queries"],
    truth: Float[np.ndarray, " queries"] | None,
    chosen: int,
) -> pd.DataFrame:
    """Return a table with one row per point of the curve; the query has index `chosen`."""
    known, place = np.full(len(at), np.nan) if truth is None else truth, np.arange(len(at))
    return pd.DataFrame(
        {"place": place, "x": at, "fit": fit, "truth": known, "chosen": place == chosen}
    )


def points_table(
    x: Float[np.ndarray, " points"],
    y: Float[np.ndarray, " points"],
    weight: Float[np.ndarray, " points"],
) -> pd.DataFrame:
    """Return a table with one row per data point: x, y, and its weight for the query."""
    return pd.DataFrame({"x": x, "y": y, "weight": weight, "none": 0.0})


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

    The query is marked on the curve; `largest` is the largest weight. The selection `CLICKED` has
    the point of the curve that was clicked.
    """
    x = alt.X("x:Q", title="x", scale=alt.Scale(domain=list(x_domain), nice=False))
    y = partial(alt.Y, title="y", scale=alt.Scale(domain=list(y_domain), nice=False))
    # Three times the largest weight, so that the bars stay in the lowest third of the chart.
    most = max(3 * largest, 1e-6)
    axis = alt.Axis(orient="right", titleColor=HUES.key, format=".2~g", tickCount=5)
    bars = alt.Chart(points).encode(
        x=x,
        y=alt.Y(
            "none:Q",
            title="weight of the point (share)",
            scale=alt.Scale(domain=[0, most], nice=False),
            axis=axis,
        ),
        y2="weight:Q",
    )
    data = alt.Chart(points).encode(
        x=x,
        y=y("y:Q"),
        tooltip=[tip("x:Q", None, ".4g"), tip("y:Q", None, ".4g"), tip("weight:Q", None, ".4f")],
    )
    curve = alt.Chart(fit).encode(x=x)
    here, fitted = curve.transform_filter("datum.chosen"), curve.encode(y=y("fit:Q"))
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
    rules = bars.mark_rule(strokeWidth=4, color=HUES.key, opacity=0.75)
    return alt.layer(picture, rules).resolve_scale(y="independent")


def plane_table(
    x: Float[np.ndarray, "points features"],
    y: Float[np.ndarray, " points"],
    weight: Float[np.ndarray, " points"],
    chosen: int,
) -> pd.DataFrame:
    """Return a table with one row per data point; `relative` is its weight over the largest one."""
    return pd.DataFrame(
        {
            "point": np.arange(1, len(y) + 1),
            "first": x[:, 0],
            "second": x[:, 1],
            "y": y,
            "sign": np.where(y < 0, *_SIGNS),
            "weight": weight,
            "relative": weight / max(float(weight.max()), 1e-12),
            "chosen": np.arange(len(y)) == chosen,
        }
    )


@drawn_once
def plane_chart(table: Rows) -> Chart:
    """Draw data points by their two features, sized by weight and coloured by y.

    The query is ringed; triangles that point down have y below 0. `CLICKED` selects a point.
    """
    unit, size = alt.Scale(domain=[0, 1]), alt.Scale(domain=[0, 1], range=[14, 320])
    base = alt.Chart(table).encode(
        x=alt.X("first:Q", title="feature 1", scale=unit),
        y=alt.Y("second:Q", title="feature 2", scale=unit),
    )
    shapes = alt.Scale(domain=list(_SIGNS), range=["triangle-down", "triangle-up"])
    points = base.encode(
        size=alt.Size("relative:Q", scale=size, legend=None),
        color=shade("y", "y", SIGNED, (-1.2, 1.2), values=(-1, 0, 1), length=120),
        # Without a second legend, which would make the chart narrower.
        shape=alt.Shape("sign:N", scale=shapes, legend=None),
        tooltip=[
            tip("point:O"),
            tip("first:Q", "feature 1", ".3f"),
            tip("second:Q", "feature 2", ".3f"),
            tip("y:Q", None, ".3f"),
            tip("weight:Q", None, ".4f"),
        ],
    ).mark_point(filled=True, opacity=0.9, stroke=HUES.truth, strokeWidth=0.7)
    ring = base.transform_filter("datum.chosen").mark_point(
        size=420, color=HUES.query, strokeWidth=3, filled=False, opacity=1
    )
    return sized(alt.layer(points.add_params(_clicked("point")), ring), _SIDE, _SIDE)
