"""The loss of predicting each day from those before it, beside the exact floor of that day."""

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from attnlab.charts.core.colours import hues
from attnlab.charts.core.drawing import Rows, drawn_once


def by_day_table(
    days: Int[np.ndarray, " days"],
    losses: Float[np.ndarray, " days"],
    stderr: Float[np.ndarray, " days"],
    floors: Float[np.ndarray, " days"],
) -> pd.DataFrame:
    """A row a day that is predicted; the bar reaches one standard error to both sides."""
    return pd.DataFrame(
        {
            "day": days,
            "loss": losses,
            "error": stderr,
            "low": losses - stderr,
            "high": losses + stderr,
            "floor": floors,
        }
    )


@drawn_once
def by_day_chart(table: Rows, *, dark: bool, height: int) -> alt.LayerChart:
    """The model's loss in the colour of what was learned, the floor in grey dashes."""
    hue = hues(dark=dark)
    base = alt.Chart(table).encode(
        x=alt.X("day:O", title="day predicted", axis=alt.Axis(labelAngle=0, labelOverlap=True))
    )

    def y(field: str) -> alt.Y:
        return alt.Y(field, title="loss (nats)", scale=alt.Scale(zero=False))

    floor = base.encode(y=y("floor:Q"))
    return alt.layer(
        floor.mark_line(color=hue.truth, strokeDash=[5, 4], strokeWidth=1.5, aria=False),
        floor.mark_point(color=hue.truth, filled=True, size=20, opacity=1, aria=False),
        base.encode(y=y("low:Q"), y2="high:Q").mark_rule(
            color=hue.learned, strokeWidth=2, aria=False
        ),
        base.encode(
            y=y("loss:Q"),
            tooltip=[
                alt.Tooltip("day:O", title="day predicted"),
                alt.Tooltip("loss:Q", title="loss of the model (nats)", format=".4f"),
                alt.Tooltip("error:Q", title="± standard error", format=".2g"),
                alt.Tooltip("floor:Q", title="floor (nats)", format=".4f"),
            ],
        ).mark_point(color=hue.learned, filled=True, size=55, opacity=1, aria=False),
    ).properties(height=height)
