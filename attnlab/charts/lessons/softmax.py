"""A softmax as bars: what temperature does to the weights."""

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.core.colours import hues
from attnlab.charts.core.drawing import Rows, drawn_once


def softmax_table(
    logits: Float[np.ndarray, " keys"],
    weights: Float[np.ndarray, " keys"],
    at_one: Float[np.ndarray, " keys"],
) -> pd.DataFrame:
    """A row for every key: its logit, its weight, and its weight at temperature 1."""
    return pd.DataFrame(
        {
            "key": np.arange(1, len(logits) + 1),
            # JSON has no infinity.
            "logit": [f"{logit:g}" for logit in logits],
            "weight": weights,
            "at_one": at_one,
        }
    )


@drawn_once
def softmax_chart(table: Rows, *, keys: int, dark: bool, height: int) -> alt.LayerChart:
    """Weights of `keys` as bars on a scale from 0 to 1, those of temperature 1 as grey ticks."""
    hue = hues(dark=dark)
    base = alt.Chart(table).encode(
        x=alt.X(
            "key:O", title="key", axis=alt.Axis(labelAngle=0, labelOverlap=True, titleColor=hue.key)
        ),
        tooltip=[
            alt.Tooltip("key:O"),
            alt.Tooltip("logit:N"),
            alt.Tooltip("weight:Q", format=".4f"),
            alt.Tooltip("at_one:Q", title="at temperature 1", format=".4f"),
        ],
    )
    scale = alt.Scale(domain=[0, 1])

    def y(field: str) -> alt.Y:
        return alt.Y(field, title="weight (share)", scale=scale)

    layers = [
        base.encode(y=y("weight:Q")).mark_bar(color=hue.learned, aria=False),
        base.encode(y=y("at_one:Q")).mark_tick(
            color=hue.truth, thickness=3, bandSize=26, aria=False
        ),
    ]
    if keys <= 10:
        layers.append(
            base.encode(y=y("weight:Q"), text=alt.Text("weight:Q", format=".4f")).mark_text(
                baseline="bottom", dy=-4, color=hue.truth, aria=False
            )
        )
    return alt.layer(*layers).properties(height=height)
