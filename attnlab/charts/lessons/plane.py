"""Points of a plane, as large as the weights that a kernel gives them."""

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.core.colours import hues, signed_ramp
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.legend import ramp_legend
from attnlab.charts.lessons.regression import CLICKED

# Of y: told by the form of a point as well as by its colour.
_SIGNS = ("y below 0", "y from 0 up")


def plane_table(
    x: Float[np.ndarray, "points features"],
    y: Float[np.ndarray, " points"],
    weight: Float[np.ndarray, " points"],
    chosen: int,
) -> pd.DataFrame:
    """A row for every point of the plane; `relative` is its weight over the largest."""
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
def plane_chart(table: Rows, *, dark: bool, height: int) -> alt.LayerChart:
    """Points by their two features, as large as their weight, coloured by y; the query ringed.

    A triangle that points down has a y below 0. The point that is clicked is the selection
    `CLICKED`.
    """
    hue = hues(dark=dark)
    base = alt.Chart(table).encode(
        x=alt.X("first:Q", title="feature 1", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("second:Q", title="feature 2", scale=alt.Scale(domain=[0, 1])),
    )
    points = base.encode(
        size=alt.Size(
            "relative:Q",
            title="weight, relative to the largest",
            scale=alt.Scale(domain=[0, 1], range=[14, 320]),
            legend=None,
        ),
        color=alt.Color(
            "y:Q",
            title="y",
            scale=alt.Scale(domain=[-1.2, 0, 1.2], range=list(signed_ramp(dark=dark)), clamp=True),
            legend=ramp_legend(length=120, values=[-1, 0, 1]),
        ),
        shape=alt.Shape(
            "sign:N",
            title=None,
            scale=alt.Scale(domain=list(_SIGNS), range=["triangle-down", "triangle-up"]),
            # Beside the other one it would leave a narrow chart.
            legend=None,
        ),
        tooltip=[
            alt.Tooltip("point:O"),
            alt.Tooltip("first:Q", title="feature 1", format=".3f"),
            alt.Tooltip("second:Q", title="feature 2", format=".3f"),
            alt.Tooltip("y:Q", format=".3f"),
            alt.Tooltip("weight:Q", format=".4f"),
        ],
    ).mark_point(filled=True, opacity=0.9, stroke=hue.truth, strokeWidth=0.7, aria=False)
    clicked = alt.selection_point(
        name=CLICKED, fields=["point"], nearest=True, on="click", clear=False, empty=False
    )
    ring = base.transform_filter(alt.datum.chosen).mark_point(
        size=420, color=hue.query, strokeWidth=3, filled=False, opacity=1, aria=False
    )
    return alt.layer(points.add_params(clicked), ring).properties(height=height)
