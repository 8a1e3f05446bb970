"""A figure of every setting over its seeds, beside what could be reached without training."""

from collections.abc import Iterator, Sequence

import altair as alt
import pandas as pd

from attnlab.charts.core.colours import hues, inks
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.comparisons.summary import Row, figures_of
from attnlab.configuration.number_text import show_range
from attnlab.optimum import Best
from attnlab.training.shares import learned_share

# The reference predictors by their names, and the dashes of their lines.
REFERENCES = {
    "uniform guess": [1, 3],
    "majority": [3, 3],
    "best linear": [8, 3, 2, 3],
    "best possible": [6, 2],
}
TITLES = {
    "accuracy": "test accuracy",
    "nll": "test loss (nats)",
    "learned": "learned, of what can be learned",
    "exact_match": "exact match",
}
_ROW = 38
# Of a line its dots, under the name: the share of its height by which they are below its middle.
BELOW = 0.14


def seeds_table(rows: Sequence[Row], labels: Sequence[str], figure: str) -> pd.DataFrame:
    """A row for every finished run; settings are counted from 1."""
    found = [
        (place + BELOW, label, seed, value)
        for place, (row, label) in enumerate(zip(rows, labels, strict=True), 1)
        if has_figure(row, figure)
        for seed, value in figures_of(row, figure).items()
    ]
    return pd.DataFrame(found, columns=["place", "setting", "seed", "value"])


def means_table(rows: Sequence[Row], labels: Sequence[str], figure: str) -> pd.DataFrame:
    """A row for every setting with a finished run; of a single one the interval is empty."""
    found = []
    for place, (row, label) in enumerate(zip(rows, labels, strict=True), 1):
        if has_figure(row, figure):
            each = getattr(row, figure)
            text = "–"
            if each.low is not None:
                scale, unit = (100, " %") if figure == "learned" else (1, "")
                ends = scale * each.low, scale * each.high
                text = show_range(*ends, places=1 if unit else 4) + unit
            n = len(row.finished)
            found.append((place + BELOW, label, each.mean, each.low, each.high, text, n))
    columns = ["place", "setting", "value", "low", "high", "interval", "n"]
    return pd.DataFrame(found, columns=columns).astype({"low": float, "high": float})


def references_table(rows: Sequence[Row], figure: str) -> pd.DataFrame:
    """A row for every setting and reference predictor that is known.

    There is none for the exact match: what they write, each token after the last, is another matter
    than what they predict.
    """
    found = [
        (place, place - 0.16, place + 0.44, name, value)
        for place, row in enumerate(rows, 1)
        for name, value in _references(row, figure)
    ]
    return pd.DataFrame(found, columns=["place", "above", "below", "reference", "value"])


def has_figure(row: Row, figure: str) -> bool:
    """Whether a setting has that figure already."""
    return getattr(row, figure) is not None


def _references(row: Row, figure: str) -> Iterator[tuple[str, float]]:
    known = row.references
    if known is None or figure == "exact_match":
        return
    each: tuple[Best | None, ...] = (known.uniform, known.majority, known.linear, known.best)
    vocab = row.setting.experiment.generator.vocabulary.size
    for name, best in zip(REFERENCES, each, strict=True):
        if best is None:
            continue
        if figure != "learned":
            yield name, getattr(best, figure)
        elif (share := learned_share(best, known.best, vocab)) is not None:
            yield name, share.share


@drawn_once
def dots_chart(
    seeds: Rows, means: Rows, references: Rows, *, figure: str, labels: Sequence[str], dark: bool
) -> alt.LayerChart:
    """A line for every setting: its runs as small dots, their mean with its interval."""
    layers = dots_layers(seeds, means, references, figure=figure, labels=labels, dark=dark)
    return with_rows(alt.layer(*layers), labels)


def with_rows(chart: alt.LayerChart, labels: Sequence[str]) -> alt.LayerChart:
    """Give each label a line of the same height, whatever room legends and axes take."""
    # By default they would take it from the lines, of which few would be left nothing.
    sizes = alt.AutoSizeParams(type="fit-x", contains="padding")
    return chart.properties(height=_ROW * len(labels), autosize=sizes, padding={"right": 16})


def place_axis(field: str, labels: Sequence[str]) -> alt.Y:
    """Settings downwards by their place, counted from 1."""
    # The same everywhere, lest the layers disagree.
    scale = alt.Scale(domain=[len(labels) + 0.5, 0.5], nice=False, zero=False)
    return alt.Y(field, axis=None, scale=scale)


def names_layer(labels: Sequence[str], *, dark: bool) -> alt.Chart:
    """The name of each setting above its line."""
    # In the picture, not beside it: on a phone they would leave no room for it.
    rows = [{"place": place - 0.27, "name": label} for place, label in enumerate(labels, 1)]
    return (
        alt.Chart(alt.InlineData(rows))
        .mark_text(align="left", color=inks(dark=dark).ink, aria=False, x=2)
        .encode(y=place_axis("place:Q", labels), text="name:N")
    )


def dots_layers(
    seeds: Rows, means: Rows, references: Rows, *, figure: str, labels: Sequence[str], dark: bool
) -> list[alt.Chart]:
    """What `dots_chart` is made of: the reference predictors first, the names last."""
    hue = hues(dark=dark)

    def y(field: str) -> alt.Y:
        return place_axis(field, labels)

    def x(field: str) -> alt.X:
        form = {"format": ".0%"} if figure == "learned" else {}
        axis = alt.Axis(tickCount=8, labelOverlap=True, **form)
        scale = alt.Scale(domain=[0, 1]) if figure == "exact_match" else alt.Scale(zero=False)
        return alt.X(field, title=TITLES[figure], scale=scale, axis=axis)

    number = ".1%" if figure == "learned" else ".4f"
    known = (
        alt.Chart(references)
        .mark_rule(color=hue.truth, strokeWidth=1.6, aria=False)
        .encode(
            x=x("value:Q"),
            y=y("above:Q"),
            y2="below:Q",
            strokeDash=alt.StrokeDash(
                "reference:N",
                title=None,
                scale=alt.Scale(domain=list(REFERENCES), range=list(REFERENCES.values())),
                legend=None
                if figure == "exact_match"
                else alt.Legend(orient="top", symbolType="stroke", symbolSize=300, columns=2),
            ),
            tooltip=[
                alt.Tooltip("reference:N"),
                alt.Tooltip("value:Q", title=TITLES[figure], format=number),
            ],
        )
    )
    each = (
        alt.Chart(seeds)
        .mark_circle(
            color=hue.learned, size=44, opacity=1, stroke=inks(dark=dark).ground, aria=False
        )
        .encode(
            x=x("value:Q"),
            y=y("place:Q"),
            tooltip=[
                alt.Tooltip("setting:N"),
                alt.Tooltip("seed:O"),
                alt.Tooltip("value:Q", title=TITLES[figure], format=number),
            ],
        )
    )
    base = alt.Chart(means)
    spans = (
        base.transform_filter("isValid(datum.low)")
        .mark_rule(color=hue.learned, strokeWidth=2, opacity=0.6, aria=False)
        .encode(x=x("low:Q"), x2="high:Q", y=y("place:Q"))
    )
    middles = base.mark_point(
        color=hue.learned, filled=True, shape="diamond", size=110, opacity=1, aria=False
    ).encode(
        x=x("value:Q"),
        y=y("place:Q"),
        tooltip=[
            alt.Tooltip("setting:N"),
            alt.Tooltip("value:Q", title="mean", format=number),
            alt.Tooltip("interval:N", title="95 % interval"),
            alt.Tooltip("n:Q", title="seeds", format="d"),
        ],
    )
    return [known, spans, each, middles, names_layer(labels, dark=dark)]
