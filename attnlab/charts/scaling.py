"""Charts of the lesson about softmax scaling."""

from collections.abc import Mapping, Sequence
from functools import partial

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.drawing import Chart, Rows, drawn_once
from attnlab.charts.heatmap import heatmap, shade, side, tip
from attnlab.charts.lines import Series, by_name, top_legend
from attnlab.charts.style import HUES, KNOWN_LINE, SHARES, past_hue
from attnlab.lessons.saturation import Histogram
from attnlab.lessons.sweep import SCALED as SCALED_NAME
from attnlab.lessons.sweep import Track, over_seeds, steps_to

SCALED, UNSCALED = "with 1/√d", "without"
NAMES = {SCALED_NAME: SCALED, "none": UNSCALED}
# The looks of both series.
BY_SCALE = (Series(SCALED, HUES.learned), Series(UNSCALED, past_hue(0), "square"))
_SERIES, _HUES = (SCALED, UNSCALED), tuple(one.colour for one in BY_SCALE)


def distribution_table(histograms: Mapping[str, Histogram]) -> pd.DataFrame:
    """Return a table with one row per series and histogram bin."""
    parts = [
        pd.DataFrame(
            {"series": name, "at": one.centres, "density": one.density, "normal": one.normal}
        )
        for name, one in histograms.items()
    ]
    return pd.concat(parts, ignore_index=True)


@drawn_once
def distribution_chart(table: Rows) -> Chart:
    """Draw histograms as filled steps, with normal densities of the theoretical variances."""
    legend = {"legend": top_legend(symbolType="stroke", symbolStrokeWidth=2)}
    colour = by_name(alt.Color, "series", _SERIES, _HUES, **legend)
    dash = by_name(alt.StrokeDash, "series", _SERIES, ([1, 0], [2, 2]), **legend)
    base = alt.Chart(table).encode(x=alt.X("at:Q", title="score: q · k, scaled or not"))
    y = partial(alt.Y, title="share of the draws per unit")
    tooltip = [
        tip("series:N", "scores"),
        tip("at:Q", "score", ".3g"),
        tip("density:Q", "drawn", ".3f"),
        tip("normal:Q", "normal distribution", ".3f"),
    ]
    area = base.encode(y=y("density:Q", stack=None), color=colour)
    line = base.encode(y=y("density:Q"), color=colour, strokeDash=dash, tooltip=tooltip)
    return alt.layer(
        area.mark_area(interpolate="step", opacity=0.35),
        line.mark_line(interpolate="step", strokeWidth=1.5),
        base.encode(y=y("normal:Q"), detail="series:N").mark_line(**KNOWN_LINE),
    )


def softmax_table(
    logits: Float[np.ndarray, " keys"],
    weights: Float[np.ndarray, " keys"],
    at_one: Float[np.ndarray, " keys"],
) -> pd.DataFrame:
    """Return a table with one row per key: logit, weight, and weight at temperature 1."""
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
def softmax_chart(table: Rows, *, keys: int) -> Chart:
    """Draw the weight of each key as a bar, and its weight at temperature 1 as a grey tick."""
    axis = alt.Axis(labelAngle=0, labelOverlap=True, titleColor=HUES.key)
    base = alt.Chart(table).encode(
        x=alt.X("key:O", title="key", axis=axis),
        tooltip=[
            tip("key:O"),
            tip("logit:N"),
            tip("weight:Q", None, ".4f"),
            tip("at_one:Q", "at temperature 1", ".4f"),
        ],
    )
    y = partial(alt.Y, title="weight (share)", scale=alt.Scale(domain=[0, 1]))
    weight = base.encode(y=y("weight:Q"))
    layers = [
        weight.mark_bar(color=HUES.learned),
        base.encode(y=y("at_one:Q")).mark_tick(color=HUES.truth, thickness=3, bandSize=26),
    ]
    if keys <= 10:
        number = weight.encode(text=alt.Text("weight:Q", format=".4f"))
        layers.append(number.mark_text(baseline="bottom", dy=-4, color=HUES.truth))
    return alt.layer(*layers)


def training_table(tracks: Sequence[Track], figure: str, gain: int) -> pd.DataFrame:
    """Return a table with one row per track and evaluation: the mean of `figure` over seeds."""
    parts = []
    for track in tracks:
        values = getattr(track, figure)[gain]
        means = np.array([over_seeds(column) for column in values.T])
        parts.append(
            pd.DataFrame(
                {
                    "series": NAMES[track.scale],
                    "d_attn": track.d_attn,
                    # A logarithmic axis has no 0, so step 0 is drawn at 0.5.
                    "step": np.maximum(track.steps, 0.5),
                    "shown": track.steps,
                    "value": means[:, 0],
                    "error": means[:, 1],
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


@drawn_once
def training_chart(
    table: Rows, *, y_title: str, last_step: int, widths: Sequence[int], logarithmic: bool
) -> Chart:
    """Draw one line per width, solid with 1/√d and dashed without; the widest is strongest."""
    legend = top_legend(symbolType="stroke", symbolStrokeWidth=3)
    strength = alt.Scale(domain=list(widths), range=list(np.linspace(0.3, 1, len(widths))))
    lines = alt.Chart(table).mark_line(strokeWidth=1.8, point=alt.OverlayMarkDef(size=16))
    return lines.encode(
        x=alt.X(
            "step:Q",
            title="step (log scale, from step 0)",
            scale=alt.Scale(type="log", domain=[0.5, last_step], nice=False),
            axis=alt.Axis(format="~s", labelOverlap=True, tickCount=4),
        ),
        y=alt.Y(
            "value:Q",
            title=y_title,
            scale=alt.Scale(type="log") if logarithmic else alt.Scale(zero=True),
            axis=alt.Axis(format="~g"),
        ),
        color=by_name(alt.Color, "series", _SERIES, _HUES, legend=legend),
        strokeDash=by_name(alt.StrokeDash, "series", _SERIES, ([1, 0], [6, 3])),
        opacity=alt.Opacity("d_attn:O", title="d_attn", scale=strength, legend=None),
        tooltip=[
            tip("series:N", "scores"),
            tip("d_attn:O"),
            tip("shown:Q", "step", ",d"),
            tip("value:Q", y_title, ".4f"),
            tip("error:Q", "± standard error", ".4f"),
        ],
    )


def reached_table(tracks: Sequence[Track], gap: float, gain: int, last_step: int) -> pd.DataFrame:
    """Return a table with one row per run: the first tested step within `gap`, or the last step."""
    parts = []
    for track in tracks:
        first = steps_to(track, gap)[gain]
        reached = np.isfinite(first)
        parts.append(
            pd.DataFrame(
                {
                    "series": NAMES[track.scale],
                    "d_attn": track.d_attn,
                    "seed": np.arange(len(first)),
                    "step": np.where(reached, np.maximum(first, 0.5), last_step),
                    "reached": np.where(reached, "reached", "not reached"),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


@drawn_once
def reached_chart(table: Rows, *, widths: Sequence[int], last_step: int) -> Chart:
    """Draw the step at which each seed reached the target; open triangles never reached it."""
    kinds, shapes = ("reached", "not reached"), ("circle", "triangle-up")
    legend = alt.Legend(orient="top", symbolType="circle")
    return (
        alt.Chart(table)
        .mark_point(size=70, strokeWidth=2)
        .encode(
            x=side(alt.X, "d_attn", "d_attn", widths),
            xOffset=alt.XOffset("series:N", scale=alt.Scale(domain=list(_SERIES))),
            y=alt.Y(
                "step:Q",
                title="steps to the target (log scale)",
                scale=alt.Scale(type="log", domainMax=last_step * 1.3, nice=False),
                axis=alt.Axis(format="~s"),
            ),
            color=by_name(alt.Color, "series", _SERIES, _HUES, legend=legend),
            shape=by_name(alt.Shape, "reached", kinds, shapes, legend=None),
            tooltip=[
                tip("series:N"),
                tip("d_attn:O"),
                tip("seed:O"),
                tip("step:Q", None, ",d"),
                tip("reached:N"),
            ],
        )
    )


def gap_map_table(tracks: Sequence[Track], gains: Sequence[float], scale: str) -> pd.DataFrame:
    """Return a table with one row per width and gain: the final gap and its standard error."""
    rows = []
    for track in tracks:
        if track.scale == scale:
            for number, gain in enumerate(gains):
                mean, error = over_seeds(track.gap[number, :, -1])
                rows.append((track.d_attn, f"{gain:g}", mean, error))
    return pd.DataFrame(rows, columns=["d_attn", "gain", "gap", "error"])


@drawn_once
def gap_map_chart(
    table: Rows, *, widths: Sequence[int], gains: Sequence[float], most: float
) -> Chart:
    """Draw the final gap as a heatmap; colours follow its square root, from 0 to `most` nats."""
    ends = {"values": (0, most / 4, most), "form": ".2g", "length": 120, "type": "sqrt"}
    return heatmap(
        table,
        x=side(alt.X, "d_attn", "d_attn →", widths),
        y=side(alt.Y, "gain", "init gain of W_Q, W_K", [f"{gain:g}" for gain in reversed(gains)]),
        colour=shade("gap", "final gap (nats)", SHARES, (0, most), **ends),
        tooltip=[
            tip("d_attn:O"),
            tip("gain:O", "init gain"),
            tip("gap:Q", "gap (nats)", ".4f"),
            tip("error:Q", "± standard error", ".4f"),
        ],
        number=alt.Text("gap:Q", format=".3f"),
        strong=f"datum.gap > {most / 3}",
    )
