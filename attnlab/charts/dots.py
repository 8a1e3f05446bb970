"""Dot plots with one row per setting: runs, their mean, and reference predictors."""

import json
from collections.abc import Iterator, Sequence
from functools import partial

import altair as alt
import pandas as pd

from attnlab.charts.drawing import Chart, Drawing, Rows, drawn_once
from attnlab.charts.heatmap import tip
from attnlab.charts.lines import by_name, top_legend
from attnlab.charts.style import GROUND, HUES, INK
from attnlab.comparisons.paired import Share
from attnlab.comparisons.summary import OF_REFERENCES, Row, figures_of, interval_of
from attnlab.comparisons.verdicts import PublishedRow
from attnlab.configuration.number_text import show_range
from attnlab.inspection import measure_label
from attnlab.optimum import Best
from attnlab.training.shares import learned_share

# Dash pattern of each reference predictor.
REFERENCES = {
    "uniform guess": [1, 3],
    "majority": [3, 3],
    "best linear": [8, 3, 2, 3],
    "best possible": [6, 2],
}
TITLES = {
    "accuracy": "test accuracy",
    "nll": "test loss (nats)",
    "learned": "share of what can be learned",
    "exact_match": "exact match",
}
SEED = "the seed"
ENGLISH, JAPANESE = "post (English)", "post (Japanese)"
# Heights in pixels: of a setting's row, of few settings together, of a share's row, and of the
# space around the shares.
_ROW, _FEW, _SHARE_ROW, _SHARE_AROUND = 38, 130, 30, 70
# A longer name is in the upper part of its row, since beside it a phone would have no room. Beside
# names above the second length, a phone has room for legends of one column.
_MOST_BESIDE, _MOST_FOR_TWO = 20, 14
# The dots are this fraction of a row below its middle.
BELOW = 0.14


def seeds_table(rows: Sequence[Row], labels: Sequence[str], figure: str) -> pd.DataFrame:
    """Return a table with one row per finished run; `place` is the setting's row, from 1."""
    found = [
        (place + BELOW, label, seed, value)
        for place, (row, label) in enumerate(zip(rows, labels, strict=True), 1)
        if interval_of(row, figure) is not None
        for seed, value in figures_of(row, figure).items()
    ]
    return pd.DataFrame(found, columns=["place", "setting", "seed", "value"])


def means_table(rows: Sequence[Row], labels: Sequence[str], figure: str) -> pd.DataFrame:
    """Return a table with one row per setting: its mean and, with several runs, its interval."""
    found = []
    for place, (row, label) in enumerate(zip(rows, labels, strict=True), 1):
        if (each := interval_of(row, figure)) is not None:
            text = "–"
            if each.low is not None:
                scale, unit = (100, " %") if figure == "learned" else (1, "")
                ends = tuple(scale * end for end in each.ends)
                text = show_range(*ends, places=1 if unit else 4) + unit
            n = len(row.finished)
            found.append((place + BELOW, label, each.mean, each.low, each.high, text, n))
    columns = ["place", "setting", "value", "low", "high", "interval", "n"]
    return pd.DataFrame(found, columns=columns).astype({"low": float, "high": float})


def references_table(rows: Sequence[Row], figure: str) -> pd.DataFrame:
    """Return a table with one row per setting and known reference predictor.

    Exact match and metrics have none: they are not about predicting one token.
    """
    found = [
        (place, place - 0.16, place + 0.44, name, value)
        for place, row in enumerate(rows, 1)
        for name, value in _references(row, figure)
    ]
    return pd.DataFrame(found, columns=["place", "above", "below", "reference", "value"])


def title_of(figure: str) -> str:
    """Return the title of the axis of a result or of a metric."""
    return TITLES.get(figure) or measure_label(figure)


def _references(row: Row, figure: str) -> Iterator[tuple[str, float]]:
    known = row.references
    if known is None or figure not in OF_REFERENCES:
        return
    each: tuple[Best | None, ...] = (known.uniform, known.majority, known.linear, known.best)
    vocab = row.experiment.generator.vocabulary.size
    for name, best in zip(REFERENCES, each, strict=True):
        if best is None:
            continue
        if figure != "learned":
            yield name, getattr(best, figure)
        elif (share := learned_share(best, known.best, vocab)) is not None:
            yield name, share.share


def with_rows(labels: Sequence[str], *layers: alt.Chart, least: int = _FEW) -> Chart:
    """Layer charts over rows of equal height, one per label, with its label beside or in it.

    The chart is at least `least` pixels high.
    """
    if not _are_beside(labels):
        names = [{"place": place - 0.27, "name": label} for place, label in enumerate(labels, 1)]
        named = alt.Chart(alt.InlineData(names)).encode(
            y=row_axis("place:Q", labels), text="name:N"
        )
        layers = (*layers, named.mark_text(align="left", color=INK, x=2))
    # By default, legends would make the rows smaller.
    sizes = alt.AutoSizeParams(type="fit-x", contains="padding")
    height = max(_ROW * len(labels), least)
    return alt.layer(*layers).properties(height=height, autosize=sizes)


def _are_beside(labels: Sequence[str]) -> bool:
    return max(map(len, labels)) <= _MOST_BESIDE


def row_axis(field: str, labels: Sequence[str]) -> alt.Y:
    """Return the vertical axis of settings, from row 1 at the top."""
    axis, middle = None, 0.0
    if _are_beside(labels):
        middle = BELOW
        name = f"{json.dumps(labels, ensure_ascii=False)}[round(datum.value) - 1]"
        look = {"grid": False, "ticks": False, "domain": False, "labelColor": INK, "labelLimit": 0}
        at = [place + middle for place in range(1, len(labels) + 1)]
        axis = alt.Axis(values=at, labelExpr=name, title=None, **look)
    # The same scale in all layers, so that their rows are aligned.
    ends = [len(labels) + 0.5 + middle, 0.5 + middle]
    return alt.Y(field, axis=axis, scale=alt.Scale(domain=ends, nice=False, zero=False))


def dots_chart(
    rows: Sequence[Row],
    labels: Sequence[str],
    figure: str,
    *,
    published: Sequence[PublishedRow] = (),
    climbs: bool = False,
) -> Drawing:
    """Draw one row per setting: runs as small dots, their mean, and its confidence interval.

    Args:
        rows: The settings.
        labels: Their names.
        figure: The result to draw, one of `TITLES` or a metric.
        published: The rows of the post, whose results are drawn as open marks.
        climbs: Whether a line leads from each mean to the next.
    """
    return _dots(
        seeds_table(rows, labels, figure),
        means_table(rows, labels, figure),
        references_table(rows, figure),
        published_table(published) if published else None,
        figure=figure,
        labels=tuple(labels),
        climbs=climbs,
    )


@drawn_once
def _dots(
    seeds: Rows,
    means: Rows,
    references: Rows,
    published: Rows | None,
    *,
    figure: str,
    labels: Sequence[str],
    climbs: bool,
) -> Chart:
    share = figure == "learned"
    x = partial(
        alt.X,
        title=title_of(figure),
        scale=alt.Scale(domain=[0, 1]) if figure == "exact_match" else alt.Scale(zero=False),
        axis=alt.Axis(tickCount=8, labelOverlap=True, format=".0%" if share else alt.Undefined),
    )
    y, form = partial(row_axis, labels=labels), ".1%" if share else ".4f"
    value = tip("value:Q", title_of(figure), form)
    columns = 1 if _MOST_FOR_TWO < max(map(len, labels)) <= _MOST_BESIDE else 2
    legend = top_legend(symbolType="stroke", symbolSize=300, columns=columns)
    dashes = by_name(
        alt.StrokeDash,
        "reference",
        REFERENCES,
        REFERENCES.values(),
        legend=legend if figure in OF_REFERENCES else None,
    )
    known = alt.Chart(references).encode(
        x=x("value:Q"),
        y=y("above:Q"),
        y2="below:Q",
        strokeDash=dashes,
        tooltip=[tip("reference:N"), value],
    )
    each = alt.Chart(seeds).encode(
        x=x("value:Q"), y=y("place:Q"), tooltip=[tip("setting:N"), tip("seed:O"), value]
    )
    base = alt.Chart(means).encode(y=y("place:Q"))
    span = base.transform_filter("isValid(datum.low)").encode(x=x("low:Q"), x2="high:Q")
    mean = base.encode(
        x=x("value:Q"),
        tooltip=[
            tip("setting:N"),
            tip("value:Q", "mean", form),
            tip("interval:N", "95 % interval"),
            tip("n:Q", "seeds", "d"),
        ],
    )
    path = mean.encode(order=alt.Order("place:Q"))
    layers = [
        known.mark_rule(color=HUES.truth, strokeWidth=1.6),
        *[path.mark_line(color=HUES.learned, strokeWidth=1.2, opacity=0.5)] * climbs,
        span.mark_rule(color=HUES.learned, strokeWidth=2, opacity=0.6),
        each.mark_circle(color=HUES.learned, size=44, opacity=1, stroke=GROUND),
        mean.mark_point(filled=True, shape="diamond", size=110, opacity=1, color=HUES.learned),
    ]
    if published is not None:
        kinds, shapes = (ENGLISH, JAPANESE), ("square", "triangle-up")
        marks = alt.Chart(published).encode(
            x=x("value:Q"),
            y=y("place:Q"),
            shape=by_name(alt.Shape, "post", kinds, shapes, legend=None),
            tooltip=[tip("setting:N"), tip("post:N", " "), tip("value:Q", title_of(figure), ".3f")],
        )
        look = {"size": 90, "strokeWidth": 2, "filled": False, "opacity": 1}
        layers.append(marks.mark_point(color=INK, **look))
    return with_rows(labels, *layers)


def published_table(rows: Sequence[PublishedRow]) -> pd.DataFrame:
    """Return a table with one row per result of the post; `place` is the setting's row, from 1."""
    found = [
        (place + BELOW, f"{row.process} · {row.model}", name, figure)
        for place, row in enumerate(rows, 1)
        for name, figure in zip((ENGLISH, JAPANESE), row.published, strict=True)
        if figure is not None
    ]
    return pd.DataFrame(found, columns=["place", "setting", "post", "value"])


def share_names(shares: Sequence[Share]) -> tuple[str, ...]:
    """Return each share's name: its options, joined by ×, or the seed."""
    return tuple(" × ".join(share.options) or SEED for share in shares)


def shares_table(shares: Sequence[Share]) -> pd.DataFrame:
    """Return a table with one row per share of the variance; `kind` is "option" or "seed"."""
    names = share_names(shares)
    return pd.DataFrame(
        {
            "part": names,
            "share": [share.share for share in shares],
            "chance": [share.by_chance for share in shares],
            "kind": ["seed" if name == SEED else "option" for name in names],
        }
    )


@drawn_once
def shares_chart(table: Rows, *, parts: Sequence[str]) -> Chart:
    """Draw shares of the variance as bars, with a tick at the share expected by chance."""
    title, scale = "share of the variance", alt.Scale(domain=list(parts))
    axis = alt.Axis(labelLimit=260, ticks=False, domain=False)
    tooltip = [
        tip("part:N", "due to"),
        tip("share:Q", title, ".1%"),
        tip("chance:Q", "expected by chance", ".1%"),
    ]
    base = alt.Chart(table).encode(
        y=alt.Y("part:N", title=None, scale=scale, axis=axis), tooltip=tooltip
    )
    unit, axis = alt.Scale(domain=[0, 1]), alt.Axis(format=".0%", tickCount=5)
    x = partial(alt.X, title=title, scale=unit, axis=axis)
    hues = (HUES.learned, HUES.sampled)
    colour = by_name(alt.Color, "kind", ("option", "seed"), hues, legend=None)
    number = base.encode(x=x("share:Q"), text=alt.Text("share:Q", format=".0%"))
    return alt.layer(
        base.encode(x=x("share:Q"), color=colour).mark_bar(cornerRadius=2),
        base.encode(x=x("chance:Q")).mark_tick(color=HUES.truth, thickness=2, bandSize=22),
        number.mark_text(align="left", dx=5, color=HUES.truth),
    ).properties(height=_SHARE_ROW * len(parts) + _SHARE_AROUND, padding={"right": 40})
