"""Matched runs: figures over training, and the gap against width and init gain."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from attnlab.charts.core.colours import hues, share_ramp
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.legend import ramp_legend
from attnlab.charts.core.series import SCALED, UNSCALED
from attnlab.lessons.sweep import SCALED as SCALED_NAME
from attnlab.lessons.sweep import Track, over_seeds, steps_to

NAMES = {SCALED_NAME: SCALED, "none": UNSCALED}


def training_table(tracks: Sequence[Track], figure: str, gain: int) -> pd.DataFrame:
    """A row for every look at every track: the mean over seeds of `figure`, for one gain."""
    parts = []
    for track in tracks:
        values = getattr(track, figure)[gain]
        means = np.array([over_seeds(column) for column in values.T])
        parts.append(
            pd.DataFrame(
                {
                    "series": NAMES[track.scale],
                    "d_attn": track.d_attn,
                    # A log axis has no 0: the start stands half a step before step 1.
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
    table: Rows,
    *,
    y_title: str,
    last_step: int,
    widths: Sequence[int],
    logarithmic: bool,
    dark: bool,
    height: int,
) -> alt.Chart:
    """A line for every width, solid with 1/√d and dashed without; the widest drawn strongest."""
    hue = hues(dark=dark)
    return (
        alt.Chart(table, padding={"right": 16})
        .mark_line(strokeWidth=1.8, aria=False, point=alt.OverlayMarkDef(size=16))
        .encode(
            x=alt.X(
                "step:Q",
                title="step (log scale; the start at the left)",
                scale=alt.Scale(type="log", domain=[0.5, last_step], nice=False),
                axis=alt.Axis(format="~s", labelOverlap=True, tickCount=4),
            ),
            y=alt.Y(
                "value:Q",
                title=y_title,
                scale=alt.Scale(type="log") if logarithmic else alt.Scale(zero=True),
                axis=alt.Axis(format="~g"),
            ),
            color=alt.Color(
                "series:N",
                title=None,
                scale=alt.Scale(domain=[SCALED, UNSCALED], range=[hue.learned, hue.cursor]),
                legend=alt.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=3),
            ),
            strokeDash=alt.StrokeDash(
                "series:N",
                title=None,
                scale=alt.Scale(domain=[SCALED, UNSCALED], range=[[1, 0], [6, 3]]),
            ),
            opacity=alt.Opacity(
                "d_attn:O",
                title="d_attn",
                scale=alt.Scale(domain=list(widths), range=list(np.linspace(0.3, 1, len(widths)))),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("series:N", title="scores"),
                alt.Tooltip("d_attn:O"),
                alt.Tooltip("shown:Q", title="step", format=",d"),
                alt.Tooltip("value:Q", title=y_title, format=".4f"),
                alt.Tooltip("error:Q", title="± standard error", format=".4f"),
            ],
        )
        .properties(height=height)
    )


def reached_table(tracks: Sequence[Track], gap: float, gain: int, last_step: int) -> pd.DataFrame:
    """A row for every run: the first step looked at that was good enough, or the last of all."""
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
def reached_chart(
    table: Rows, *, widths: Sequence[int], last_step: int, dark: bool, height: int
) -> alt.Chart:
    """A mark for every seed, side by side; open triangles at the top never got there."""
    hue = hues(dark=dark)
    return (
        alt.Chart(table, padding={"right": 16})
        .mark_point(size=70, strokeWidth=2, aria=False)
        .encode(
            x=alt.X(
                "d_attn:O",
                title="d_attn",
                scale=alt.Scale(domain=list(widths)),
                axis=alt.Axis(labelAngle=0),
            ),
            xOffset=alt.XOffset("series:N", scale=alt.Scale(domain=[SCALED, UNSCALED])),
            y=alt.Y(
                "step:Q",
                title="steps to the target (log scale)",
                scale=alt.Scale(type="log", domainMax=last_step * 1.3, nice=False),
                axis=alt.Axis(format="~s"),
            ),
            color=alt.Color(
                "series:N",
                title=None,
                scale=alt.Scale(domain=[SCALED, UNSCALED], range=[hue.learned, hue.cursor]),
                legend=alt.Legend(orient="top", symbolType="circle"),
            ),
            shape=alt.Shape(
                "reached:N",
                title=None,
                scale=alt.Scale(domain=["reached", "not reached"], range=["circle", "triangle-up"]),
                legend=None,
            ),
            tooltip=[
                "series:N",
                "d_attn:O",
                "seed:O",
                alt.Tooltip("step:Q", format=",d"),
                "reached:N",
            ],
        )
        .properties(height=height)
    )


def gap_map_table(tracks: Sequence[Track], gains: Sequence[float], scale: str) -> pd.DataFrame:
    """A row for every width and gain at one scale: the last gap and its standard error."""
    rows = []
    for track in tracks:
        if track.scale == scale:
            for number, gain in enumerate(gains):
                mean, error = over_seeds(track.gap[number, :, -1])
                rows.append((track.d_attn, f"{gain:g}", mean, error))
    return pd.DataFrame(rows, columns=["d_attn", "gain", "gap", "error"])


@drawn_once
def gap_map_chart(
    table: Rows,
    *,
    widths: Sequence[int],
    gains: Sequence[float],
    most: float,
    dark: bool,
    height: int,
) -> alt.LayerChart:
    """The gap as colour and number, from 0 to `most` nats by its square root."""
    ramp = share_ramp(dark=dark)
    base = alt.Chart(table).encode(
        x=alt.X(
            "d_attn:O",
            title="d_attn →",
            scale=alt.Scale(domain=list(widths)),
            axis=alt.Axis(labelAngle=0, ticks=False, domain=False),
        ),
        y=alt.Y(
            "gain:O",
            title="init gain of W_Q, W_K",
            scale=alt.Scale(domain=[f"{gain:g}" for gain in reversed(gains)]),
            axis=alt.Axis(ticks=False, domain=False),
        ),
        tooltip=[
            alt.Tooltip("d_attn:O"),
            alt.Tooltip("gain:O", title="init gain"),
            alt.Tooltip("gap:Q", title="gap (nats)", format=".4f"),
            alt.Tooltip("error:Q", title="± standard error", format=".4f"),
        ],
    )
    colour = alt.Color(
        "gap:Q",
        title="final gap (nats)",
        scale=alt.Scale(type="sqrt", domain=[0, most], range=list(ramp), clamp=True),
        legend=ramp_legend(length=120, values=[0, most / 4, most], format=".2g"),
    )
    numbers = base.encode(
        text=alt.Text("gap:Q", format=".3f"),
        color=alt.condition(alt.datum.gap > most / 3, alt.value(ramp.low), alt.value(ramp.high)),
    ).mark_text(fontSize=12, aria=False)
    cells = base.encode(color=colour).mark_rect(aria=False)
    return alt.layer(cells, numbers).properties(height=height, padding={"right": 16})
