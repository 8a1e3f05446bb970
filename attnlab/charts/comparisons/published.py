"""A published comparison: its figures beside ours, and the switches that lead to the ceiling."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from attnlab.charts.comparisons.dots import (
    BELOW,
    TITLES,
    dots_layers,
    names_layer,
    place_axis,
    with_rows,
)
from attnlab.charts.core.colours import hues
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.comparisons.verdicts import PublishedRow
from attnlab.configuration.number_text import show_range

ENGLISH, JAPANESE = "published (English)", "published (Japanese)"
BEYOND_NOISE, WITHIN_NOISE = "beyond the noise", "within the noise"


def published_table(rows: Sequence[PublishedRow]) -> pd.DataFrame:
    """A row for every figure of the post; settings are counted from 1."""
    found = [
        (place + BELOW, f"{row.process} · {row.model}", name, figure)
        for place, row in enumerate(rows, 1)
        for name, figure in zip((ENGLISH, JAPANESE), row.published, strict=True)
        if figure is not None
    ]
    return pd.DataFrame(found, columns=["place", "setting", "post", "value"])


def gains_table(rows: Sequence[PublishedRow], labels: Sequence[str]) -> pd.DataFrame:
    """A row for every switch whose gain is known; settings are counted from 1."""
    found = [
        (
            place + BELOW,
            label,
            row.gain.difference.mean,
            row.gain.difference.low,
            row.gain.difference.high,
            show_range(row.gain.difference.low, row.gain.difference.high, places=4),
            WITHIN_NOISE if row.gain.within_noise else BEYOND_NOISE,
            row.gain.difference.n,
        )
        for place, (row, label) in enumerate(zip(rows, labels, strict=True), 1)
        if row.gain is not None
    ]
    columns = ["place", "setting", "gain", "low", "high", "interval", "noise", "n"]
    return pd.DataFrame(found, columns=columns)


@drawn_once
def published_chart(
    seeds: Rows,
    means: Rows,
    references: Rows,
    published: Rows,
    *,
    labels: Sequence[str],
    dark: bool,
) -> alt.LayerChart:
    """As `dots_chart` of the accuracy, with the post's figures as open marks."""
    layers = dots_layers(seeds, means, references, figure="accuracy", labels=labels, dark=dark)
    marks = (
        alt.Chart(published)
        .mark_point(
            color=hues(dark=dark).cursor,
            size=90,
            strokeWidth=2,
            filled=False,
            opacity=1,
            aria=False,
        )
        .encode(
            x=alt.X("value:Q", title=TITLES["accuracy"], scale=alt.Scale(zero=False)),
            y=place_axis("place:Q", labels),
            shape=alt.Shape(
                "post:N",
                title=None,
                scale=alt.Scale(domain=[ENGLISH, JAPANESE], range=["square", "triangle-up"]),
                # Beside the other one there is no room on a phone.
                legend=alt.Legend(orient="bottom", columns=2),
            ),
            tooltip=[
                alt.Tooltip("setting:N"),
                alt.Tooltip("post:N", title=" "),
                alt.Tooltip("value:Q", title=TITLES["accuracy"], format=".3f"),
            ],
        )
    )
    return with_rows(alt.layer(*layers, marks), labels)


@drawn_once
def climb_chart(
    seeds: Rows, means: Rows, references: Rows, *, labels: Sequence[str], dark: bool
) -> alt.LayerChart:
    """As `dots_chart` of the accuracy, with a line from each mean to the next."""
    layers = dots_layers(seeds, means, references, figure="accuracy", labels=labels, dark=dark)
    path = (
        alt.Chart(means)
        .mark_line(color=hues(dark=dark).learned, strokeWidth=1.2, opacity=0.5, aria=False)
        .encode(
            x=alt.X("value:Q", title=TITLES["accuracy"], scale=alt.Scale(zero=False)),
            y=place_axis("place:Q", labels),
            order=alt.Order("place:Q"),
        )
    )
    return with_rows(alt.layer(layers[0], path, *layers[1:]), labels)


@drawn_once
def gains_chart(table: Rows, *, labels: Sequence[str], dark: bool) -> alt.LayerChart:
    """A line for every switch: what it adds to the accuracy, with its interval, beside 0."""
    hue = hues(dark=dark)
    title = "gain in test accuracy"
    x_scale = alt.Scale(zero=True)
    base = alt.Chart(table).encode(
        y=place_axis("place:Q", labels),
        color=alt.Color(
            "noise:N",
            title=None,
            scale=alt.Scale(domain=[BEYOND_NOISE, WITHIN_NOISE], range=[hue.learned, hue.training]),
            legend=alt.Legend(orient="top", symbolType="diamond", symbolOpacity=1, columns=1),
        ),
    )
    none = (
        alt.Chart(alt.InlineData([{"gain": 0}]))
        .mark_rule(color=hue.truth, strokeDash=[4, 4], aria=False)
        .encode(x=alt.X("gain:Q", title=title, scale=x_scale))
    )
    spans = base.mark_rule(strokeWidth=2.5, aria=False).encode(
        x=alt.X("low:Q", title=title, scale=x_scale), x2="high:Q"
    )
    points = base.mark_point(filled=True, shape="diamond", size=110, opacity=1, aria=False).encode(
        x=alt.X("gain:Q", title=title, scale=x_scale),
        tooltip=[
            alt.Tooltip("setting:N", title="switch"),
            alt.Tooltip("gain:Q", title="mean gain", format="+.4f"),
            alt.Tooltip("interval:N", title="95 % interval"),
            alt.Tooltip("n:Q", title="seeds", format="d"),
        ],
    )
    return with_rows(alt.layer(none, spans, points, names_layer(labels, dark=dark)), labels)
