"""Kernel regression: a fit, the weights behind one of its points, and what it errs by."""

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.core.colours import hues
from attnlab.charts.core.drawing import Rows, drawn_once

CLICKED = "clicked"
_WEIGHT = "weight of the point (share)"


def fit_table(
    at: Float[np.ndarray, " queries"],
    fit: Float[np.ndarray, " queries"],
    truth: Float[np.ndarray, " queries"] | None,
    chosen: int,
) -> pd.DataFrame:
    """A row for every place of the curve, one of them chosen; the truth may be unknown."""
    known, place = np.full(len(at), np.nan) if truth is None else truth, np.arange(len(at))
    return pd.DataFrame(
        {"place": place, "x": at, "fit": fit, "truth": known, "chosen": place == chosen}
    )


def points_table(
    x: Float[np.ndarray, " points"],
    y: Float[np.ndarray, " points"],
    weight: Float[np.ndarray, " points"],
) -> pd.DataFrame:
    """A row for every point of the data, with the weight that the query gives it."""
    return pd.DataFrame({"x": x, "y": y, "weight": weight, "none": 0.0})


@drawn_once
def fit_chart(
    fit: Rows,
    points: Rows,
    *,
    x_domain: tuple[float, float],
    y_domain: tuple[float, float],
    largest: float,
    dark: bool,
    height: int,
) -> alt.LayerChart:
    """Points, truth and fit, and from below a bar under every point for its weight.

    The query's place of the curve is marked; `largest` is the largest weight. The place of the
    curve that is clicked is the selection `CLICKED`.
    """
    hue = hues(dark=dark)
    x = alt.X("x:Q", title="x", scale=alt.Scale(domain=list(x_domain), nice=False))
    scale = alt.Scale(domain=list(y_domain), nice=False)

    def y(field: str) -> alt.Y:
        return alt.Y(field, title="y", scale=scale)

    # Three times the largest weight, so that the bars stay in the lowest third of the picture.
    most = max(3 * largest, 1e-6)
    bars = (
        alt.Chart(points)
        .mark_rule(strokeWidth=4, color=hue.key, opacity=0.75, aria=False)
        .encode(
            x=x,
            y=alt.Y(
                "none:Q",
                title=_WEIGHT,
                scale=alt.Scale(domain=[0, most], nice=False),
                axis=alt.Axis(orient="right", titleColor=hue.key, format=".2~g", tickCount=5),
            ),
            y2="weight:Q",
        )
    )
    curve = alt.Chart(fit).encode(x=x)
    here = curve.transform_filter(alt.datum.chosen)
    nearest = alt.selection_point(
        name=CLICKED, fields=["place"], nearest=True, on="click", clear=False, empty=False
    )
    picture = alt.layer(
        curve.encode(y=y("truth:Q")).mark_line(
            color=hue.truth, strokeDash=[5, 4], strokeWidth=1.5, aria=False, clip=True
        ),
        alt.Chart(points)
        .mark_point(color=hue.sampled, filled=True, size=45, opacity=0.9, aria=False)
        .encode(
            x=x,
            y=y("y:Q"),
            tooltip=[
                alt.Tooltip("x:Q", format=".4g"),
                alt.Tooltip("y:Q", format=".4g"),
                alt.Tooltip("weight:Q", format=".4f"),
            ],
        ),
        curve.encode(y=y("fit:Q")).mark_line(
            color=hue.learned, strokeWidth=2.5, aria=False, clip=True
        ),
        here.mark_rule(color=hue.query, strokeWidth=2, aria=False),
        here.encode(y=y("fit:Q")).mark_point(
            color=hue.query, filled=True, size=120, opacity=1, aria=False
        ),
        curve.encode(
            y=y("fit:Q"),
            tooltip=[
                alt.Tooltip("x:Q", format=".4g"),
                alt.Tooltip("fit:Q", format=".4g"),
                alt.Tooltip("truth:Q", format=".4g"),
            ],
        )
        .mark_point(size=60, opacity=0, aria=False)
        .add_params(nearest),
    )
    return alt.layer(picture, bars).resolve_scale(y="independent").properties(height=height)


@drawn_once
def leave_one_out_chart(table: Rows, chosen: Rows, *, dark: bool, height: int) -> alt.LayerChart:
    """The loss against the bandwidth with its error; the chosen bandwidth as an upright line."""
    hue = hues(dark=dark)
    x = alt.X(
        "bandwidth:Q",
        title="bandwidth h (log scale)",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="~g", labelOverlap=True, tickCount=4),
    )
    title = "leave-one-out MSE"
    base = alt.Chart(table).encode(x=x)
    here = alt.Chart(chosen).encode(x=x)
    return alt.layer(
        base.encode(y=alt.Y("low:Q", title=title), y2="high:Q").mark_area(
            color=hue.learned, opacity=0.2, aria=False
        ),
        base.encode(
            y=alt.Y("loss:Q", title=title, scale=alt.Scale(zero=False)),
            tooltip=[
                alt.Tooltip("bandwidth:Q", format=".3g"),
                alt.Tooltip("loss:Q", title=title, format=".4f"),
                alt.Tooltip("stderr:Q", title="± standard error", format=".4f"),
            ],
        ).mark_line(color=hue.learned, strokeWidth=2, aria=False),
        here.mark_rule(color=hue.cursor, strokeWidth=2, aria=False),
    ).properties(height=height)


def learning_table(
    losses: Float[np.ndarray, " steps_and_one"], known: dict[str, float], last_step: int
) -> pd.DataFrame:
    """The loss before each step and now, and levels that do not depend on the run."""
    parts = [pd.DataFrame({"series": "learned", "step": np.arange(len(losses)), "loss": losses})]
    for name, level in known.items():
        label = f"{name} {level:.4f}"
        parts.append(
            pd.DataFrame({"series": "known", "step": [0, last_step], "loss": level, "label": label})
        )
    return pd.concat(parts, ignore_index=True).reindex(columns=["series", "step", "loss", "label"])


@drawn_once
def learning_chart(
    table: Rows, *, last_step: int, y_domain: tuple[float, float], dark: bool, height: int
) -> alt.LayerChart:
    """The loss of the learned kernel falling, the levels dashed. Only the rows may change."""
    hue = hues(dark=dark)
    x = alt.X("step:Q", title="step", scale=alt.Scale(domain=[0, last_step], nice=False))
    y = alt.Y(
        "loss:Q",
        title="leave-one-out MSE",
        scale=alt.Scale(domain=list(y_domain), nice=False, clamp=True),
    )
    base = alt.Chart(table).encode(x=x, y=y)
    known = base.transform_filter(alt.datum.series == "known")
    tooltip = [alt.Tooltip("step:Q"), alt.Tooltip("loss:Q", format=".4f"), "label:N"]
    return alt.layer(
        known.encode(detail="label:N").mark_line(
            color=hue.truth, strokeDash=[5, 4], strokeWidth=1.5, aria=False
        ),
        known.transform_filter(alt.datum.step > 0)
        .encode(text="label:N")
        .mark_text(align="right", baseline="bottom", dx=-4, dy=-3, color=hue.truth, aria=False),
        base.transform_filter(alt.datum.series == "learned")
        .encode(tooltip=tooltip)
        .mark_line(color=hue.learned, strokeWidth=2.5, aria=False),
    ).properties(height=height)
