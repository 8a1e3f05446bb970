"""The weights of a linear model: a heatmap of day against weather and outcome."""

import json

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.core.colours import signed_ramp
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.legend import ramp_legend
from attnlab.generators.vocabulary import Vocabulary


def weight_table(
    weights: Float[np.ndarray, "length vocab outcomes"], vocabulary: Vocabulary
) -> pd.DataFrame:
    """A row for every weight, less its mean over outcomes, which changes no prediction."""
    centred = weights.astype(float) - weights.astype(float).mean(axis=2, keepdims=True)
    day, seen, outcome = (index.ravel() for index in np.indices(weights.shape))
    symbols = np.array(vocabulary.symbols)
    return pd.DataFrame(
        {
            "day": day + 1,
            "row": outcome * vocabulary.size + seen,
            "seen": symbols[seen],
            "outcome": symbols[outcome],
            "weight": centred.ravel(),
        }
    )


@drawn_once
def weight_chart(
    table: Rows, *, length: int, vocabulary: Vocabulary, dark: bool, height: int
) -> alt.Chart:
    """What a weather on a day adds to the logit of each outcome, in nats."""
    ramp, symbols = signed_ramp(dark=dark), vocabulary.symbols
    names = [f"{seen} → {outcome}" for outcome in symbols for seen in symbols]
    labels = json.dumps(names, ensure_ascii=False)
    rows = list(range(len(symbols) ** 2))
    return (
        alt.Chart(table, padding={"right": 16})
        .mark_rect(aria=False)
        .encode(
            x=alt.X(
                "day:O",
                title="day",
                scale=alt.Scale(domain=list(range(1, length + 1))),
                axis=alt.Axis(labelAngle=0, labelOverlap=True),
            ),
            y=alt.Y(
                "row:O",
                title="weather seen → weather predicted",
                scale=alt.Scale(domain=rows),
                axis=alt.Axis(labelExpr=f"{labels}[datum.value]", labelOverlap=False),
            ),
            color=alt.Color(
                "weight:Q",
                title="weight (nats)",
                scale=alt.Scale(range=list(ramp), domainMid=0),
                legend=ramp_legend(),
            ),
            tooltip=[
                alt.Tooltip("day:O"),
                alt.Tooltip("seen:N", title="weather seen"),
                alt.Tooltip("outcome:N", title="weather predicted"),
                alt.Tooltip("weight:Q", title="weight (nats)", format="+.3f"),
            ],
        )
        .properties(height=height)
    )
