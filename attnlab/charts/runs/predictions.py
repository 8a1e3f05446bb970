"""Predictions against the truth: one distribution, a confusion matrix, a calibration curve."""

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from attnlab.charts.core.colours import hues, inks, share_ramp
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.legend import ramp_legend
from attnlab.generators.vocabulary import Vocabulary

_DISTRIBUTIONS = ["true", "model"]


def next_day_table(
    true: Float[np.ndarray, " vocab"], model: Float[np.ndarray, " vocab"], vocabulary: Vocabulary
) -> pd.DataFrame:
    """A row for every token by either distribution."""
    return pd.DataFrame(
        {
            "token": list(vocabulary.symbols) * 2,
            "distribution": np.repeat(_DISTRIBUTIONS, vocabulary.size),
            "probability": np.concatenate([true, model]),
        }
    )


@drawn_once
def next_day_chart(table: Rows, *, symbols: tuple[str, ...], dark: bool, height: int) -> alt.Chart:
    """The true distribution of the next day beside the model's, as bars from 0 to 1."""
    hue = hues(dark=dark)
    return (
        alt.Chart(table)
        .mark_bar(aria=False)
        .encode(
            x=alt.X(
                "token:N",
                title="next day",
                sort=list(symbols),
                axis=alt.Axis(labelAngle=0, labelFontSize=16),
            ),
            xOffset=alt.XOffset("distribution:N", sort=_DISTRIBUTIONS),
            y=alt.Y("probability:Q", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color(
                "distribution:N",
                title=None,
                legend=alt.Legend(orient="top"),
                scale=alt.Scale(domain=_DISTRIBUTIONS, range=[hue.truth, hue.learned]),
            ),
            tooltip=[
                "token:N",
                alt.Tooltip("distribution:N", title="distribution"),
                alt.Tooltip("probability:Q", format=(".3f")),
            ],
        )
        .properties(height=height)
    )


def confusion_table(
    counts: Int[np.ndarray, "observed predicted"], vocabulary: Vocabulary
) -> pd.DataFrame:
    """A row for every pair of the token observed and the one with the highest probability."""
    observed, predicted = (index.ravel() for index in np.indices(counts.shape))
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    symbols = np.array(vocabulary.symbols)
    return pd.DataFrame(
        {
            "observed": symbols[observed],
            "predicted": symbols[predicted],
            "count": counts.ravel(),
            "share": (counts / total).ravel(),
        }
    )


@drawn_once
def confusion_chart(
    table: Rows, *, symbols: tuple[str, ...], dark: bool, height: int
) -> alt.LayerChart:
    """Counts of observed (rows) and predicted tokens (columns), coloured by row share."""
    order = list(symbols)
    base = alt.Chart(table).encode(
        x=alt.X(
            "predicted:N",
            title="predicted",
            sort=order,
            axis=alt.Axis(labelAngle=0, labelFontSize=16),
        ),
        y=alt.Y("observed:N", title="observed", sort=order, axis=alt.Axis(labelFontSize=16)),
        tooltip=[
            "observed:N",
            "predicted:N",
            alt.Tooltip("count:Q", format=",d"),
            alt.Tooltip("share:Q", format=".3f"),
        ],
    )
    cells = base.mark_rect(aria=False).encode(
        color=alt.Color(
            "share:Q",
            title="share of row",
            scale=alt.Scale(domain=[0, 1], range=list(share_ramp(dark=dark))),
            legend=ramp_legend(values=[0, 0.5, 1]),
        )
    )
    ground, ink = inks(dark=dark)
    text = base.mark_text(aria=False).encode(
        text=alt.Text("count:Q", format=",d"),
        color=alt.condition(alt.datum.share > 0.5, alt.value(ground), alt.value(ink)),
    )
    return alt.layer(cells, text).properties(height=height)


def calibration_table(
    predicted: Float[np.ndarray, " bins"],
    observed: Float[np.ndarray, " bins"],
    stderr: Float[np.ndarray, " bins"],
    count: Int[np.ndarray, " bins"],
) -> pd.DataFrame:
    """A row for every bin; its bar reaches one standard error to both sides."""
    return pd.DataFrame(
        {
            "predicted": predicted,
            "observed": observed,
            "low": np.clip(observed - stderr, 0, 1),
            "high": np.clip(observed + stderr, 0, 1),
            "count": count,
        }
    )


@drawn_once
def calibration_chart(table: Rows, *, dark: bool, height: int) -> alt.LayerChart:
    """Observed frequency against predicted probability; the diagonal is perfect calibration."""
    hue = hues(dark=dark)
    unit = alt.Scale(domain=[0, 1])
    corners = [{"predicted": 0.0, "observed": 0.0}, {"predicted": 1.0, "observed": 1.0}]
    diagonal = (
        alt.Chart(alt.InlineData(values=corners))
        .mark_line(color=hue.truth, strokeDash=[5, 4], aria=False)
        .encode(x=alt.X("predicted:Q", scale=unit), y=alt.Y("observed:Q", scale=unit))
    )
    base = alt.Chart(table).encode(
        x=alt.X("predicted:Q", title="predicted probability", scale=unit),
        tooltip=[
            alt.Tooltip("predicted:Q", format=".3f"),
            alt.Tooltip("observed:Q", format=".3f"),
            alt.Tooltip("count:Q", title="predictions", format=",d"),
        ],
    )
    points = base.mark_point(filled=True, size=60, color=hue.learned, aria=False).encode(
        y=alt.Y("observed:Q", title="observed frequency", scale=unit)
    )
    bars = base.mark_rule(color=hue.learned, aria=False).encode(y="low:Q", y2="high:Q")
    return alt.layer(diagonal, bars, points).properties(height=height)
