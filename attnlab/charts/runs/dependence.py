"""What each prediction truly depends on: a heatmap laid out like an attention pattern."""

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.core.colours import hues, truth_ramp
from attnlab.charts.core.days import day_axis
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.legend import ramp_legend


def dependence_table(
    values: Float[np.ndarray, "query day"], stderr: Float[np.ndarray, "query day"]
) -> pd.DataFrame:
    """A row for every day that a prediction may depend on; days count from 1."""
    query, key = np.tril_indices(len(values))
    return pd.DataFrame(
        {
            "query": query + 1,
            "key": key + 1,
            "predicted": query + 2,
            "value": values[query, key],
            "error": stderr[query, key],
        }
    )


@drawn_once
def dependence_chart(
    table: Rows, *, length: int, title: str, most: float, dark: bool, height: int
) -> alt.Chart:
    """How the prediction made at each query day depends on each key day, from 0 to `most`.

    The colours follow the square root, so that weak dependence is seen on a fixed scale.
    """
    days = list(range(1, length + 1))
    hue = hues(dark=dark)
    return (
        alt.Chart(table, padding={"right": 16})
        .mark_rect(aria=False)
        .encode(
            x=alt.X(
                "key:O",
                title="key: day depended on →",
                scale=alt.Scale(domain=days),
                axis=day_axis(days, None, hue.key, upright=True),
            ),
            y=alt.Y(
                "query:O",
                title="← query: last day seen",
                scale=alt.Scale(domain=days),
                axis=day_axis(days, None, hue.query, upright=False),
            ),
            color=alt.Color(
                "value:Q",
                title=title,
                scale=alt.Scale(
                    type="sqrt", domain=[0, most], range=list(truth_ramp(dark=dark)), clamp=True
                ),
                legend=ramp_legend(
                    length=190,
                    labelOverlap=False,
                    values=[0, most / 10, most / 2, most],
                    format=".2f",
                    titleLimit=160,
                ),
            ),
            tooltip=[
                alt.Tooltip("predicted:O", title="day predicted"),
                alt.Tooltip("key:O", title="key day"),
                alt.Tooltip("value:Q", title=title, format=".4f"),
                alt.Tooltip("error:Q", title="± standard error", format=".4f"),
            ],
        )
        .properties(height=height)
    )
