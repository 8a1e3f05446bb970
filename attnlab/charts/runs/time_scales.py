"""How long the components of a linear state last: a mark for each, on a logarithmic axis."""

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.core.colours import hues
from attnlab.charts.core.drawing import Rows, drawn_once


def time_scale_table(scales: Float[np.ndarray, " width"]) -> pd.DataFrame:
    """A row for every component, the longest first; they count from 1."""
    order = np.argsort(-scales, kind="stable")
    return pd.DataFrame(
        {
            "place": np.arange(1, len(scales) + 1),
            "component": order + 1,
            "days": scales[order].astype(float),
        }
    )


@drawn_once
def time_scale_chart(table: Rows, *, length: int, dark: bool, height: int) -> alt.LayerChart:
    """The time scale of every component, in days, and the length of what the model sees."""
    hue = hues(dark=dark)
    scale = alt.Scale(type="log", domain=[0.1, 1000], clamp=True)
    points = (
        alt.Chart(table)
        .mark_point(aria=False, filled=True, size=60, color=hue.learned)
        .encode(
            x=alt.X(
                "place:O",
                title="component, longest first",
                axis=alt.Axis(labelAngle=0, labelOverlap=True),
            ),
            y=alt.Y("days:Q", title="time scale (days)", scale=scale),
            tooltip=[
                alt.Tooltip("component:O"),
                alt.Tooltip("days:Q", title="time scale (days)", format=".3~g"),
            ],
        )
    )
    line = (
        alt.Chart(alt.InlineData([{"days": length}]))
        .mark_rule(aria=False, color=hue.truth, strokeDash=[4, 4])
        .encode(y=alt.Y("days:Q", scale=scale))
    )
    return alt.layer(points, line).properties(height=height, padding={"right": 16})
