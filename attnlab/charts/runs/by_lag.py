"""How far a prediction moves with a day, by how long before the prediction that day was."""

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.core.colours import hues
from attnlab.charts.core.drawing import Rows, drawn_once


def by_lag_table(
    influence: Float[np.ndarray, " day"], stderr: Float[np.ndarray, " day"]
) -> pd.DataFrame:
    """A row for every day up to that of the query, which comes first, with lag 0.

    The bar reaches one standard error to both sides, where it is known.
    """
    error = np.nan_to_num(stderr[::-1])
    value = influence[::-1]
    return pd.DataFrame(
        {
            "lag": np.arange(len(value)),
            "day": np.arange(len(value), 0, -1),
            "influence": value.astype(float),
            "error": stderr[::-1].astype(float),
            "low": (value - error).astype(float),
            "high": (value + error).astype(float),
        }
    )


@drawn_once
def by_lag_chart(table: Rows, *, dark: bool, height: int) -> alt.LayerChart:
    """Points with error bars, joined by a line."""
    hue = hues(dark=dark)
    base = alt.Chart(table).encode(
        x=alt.X(
            "lag:Q",
            title="days before the query",
            axis=alt.Axis(tickMinStep=1, format="d"),
            scale=alt.Scale(nice=False, padding=8),
        )
    )

    def y(field: str) -> alt.Y:
        return alt.Y(
            field,
            title="influence (total variation)",
            scale=alt.Scale(zero=True, domainMin=0),
            axis=alt.Axis(format="%"),
        )

    value = base.encode(y=y("influence:Q"))
    return alt.layer(
        value.mark_line(color=hue.learned, strokeWidth=1.2, opacity=0.5, aria=False),
        base.encode(y=y("low:Q"), y2="high:Q").mark_rule(
            color=hue.learned, strokeWidth=2, clip=True, aria=False
        ),
        value.encode(
            tooltip=[
                alt.Tooltip("lag:Q", title="days before"),
                alt.Tooltip("day:Q"),
                alt.Tooltip("influence:Q", format=".1%"),
                alt.Tooltip("error:Q", title="± standard error", format=".1%"),
            ]
        ).mark_point(color=hue.learned, filled=True, size=55, opacity=1, aria=False),
    ).properties(height=height, padding={"right": 16})
