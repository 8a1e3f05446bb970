"""The hidden states of a model that reads day after day: a heatmap of component against day."""

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.core.colours import hues, signed_ramp
from attnlab.charts.core.days import day_axis
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.legend import ramp_legend
from attnlab.charts.core.scale import cell_scale


def state_table(states: Float[np.ndarray, "length width"]) -> pd.DataFrame:
    """A row for every component of every day's state; both count from 1."""
    day, component = (index.ravel() + 1 for index in np.indices(states.shape))
    return pd.DataFrame({"day": day, "component": component, "state": states.astype(float).ravel()})


@drawn_once
def state_chart(
    table: Rows, *, length: int, symbols: tuple[str, ...] | None, dark: bool, height: int
) -> alt.Chart:
    """Every component of the state after every day."""
    days = list(range(1, length + 1))
    return (
        alt.Chart(table, padding={"right": 16})
        .mark_rect(aria=False)
        .encode(
            x=alt.X(
                "day:O",
                title="after day",
                scale=cell_scale(days),
                axis=day_axis(days, symbols, hues(dark=dark).truth, upright=True),
            ),
            y=alt.Y("component:O", title="component", axis=alt.Axis(labelOverlap=True)),
            color=alt.Color(
                "state:Q",
                title="state",
                scale=alt.Scale(range=list(signed_ramp(dark=dark)), domainMid=0),
                legend=ramp_legend(),
            ),
            tooltip=[
                alt.Tooltip("day:O"),
                alt.Tooltip("component:O"),
                alt.Tooltip("state:Q", format="+.3f"),
            ],
        )
        .properties(height=height)
    )
