"""Dot plots with one row per setting: runs, their mean, reference predictors, and claims."""

import json
import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import altair as alt
import pandas as pd

from attnlab.charts.drawing import Chart, Drawing, Rows, drawn_once, sized
from attnlab.charts.heatmap import tip
from attnlab.charts.lines import (
    Scale,
    by_name,
    distinct,
    lines_chart,
    series_table,
    top_legend,
)
from attnlab.charts.style import GROUND, HUES, INK, REFERENCE
from attnlab.comparisons.shipped import Plot
from attnlab.comparisons.summary import OF_REFERENCES, Row, figures_of, interval_of
from attnlab.configuration.number_text import show_range
from attnlab.known_results import Check, KnownResult, Numbers, Verdict, number_label
from attnlab.known_results.post_verdicts import PublishedRow
from attnlab.optimum import Best
from attnlab.training.shares import learned_share

# Dash pattern of each reference predictor.
REFERENCES = {
    "uniform guess": [1, 3],
    "majority": [3, 3],
    "best linear": [8, 3, 2, 3],
    "best possible": [6, 2],
}
# Titles of axes that say more than the name of the measure.
_TITLES = {
    "accuracy": "test accuracy",
    "nll": "test loss (nats)",
    "learned": "share of what can be learned",
}
# The shape of published numbers, by their source.
_SHAPES = {"published": "diamond", "post (English)": "square", "post (Japanese)": "triangle-up"}
# Width in pixels at which the legend is one row.
_FOR_FOUR = 480
# Heights in pixels: of a setting's row, of few settings together, and of a plot.
_ROW, _FEW, _PLOT_HEIGHT = 38, 180, 220
# More settings of a published result would make its card higher than the others.
_MOST_SETTINGS = 6
# A name is in lines of this length beside its row. If it needs more than two, it is in the upper
# part of the row, since a phone would have no room beside it. Beside names above the second length,
# a phone has room for legends of one column.
_MOST_BESIDE, _MOST_LINES, _MOST_FOR_TWO, _MOST_IN_LINE = 25, 2, 14, 36
# The dots are this fraction of a row below its middle, and a claimed range is this high.
BELOW, _HALF = 0.14, 0.24
# Space beside the numbers of claims, as a share of their range.
_BESIDE = 0.12


def title_of(name: str) -> str:
    """Return the title of the axis of a measure, or of a number over training."""
    return _TITLES.get(name) or number_label(name)


def seeds_table(numbers: Mapping[str, Mapping[int, float]]) -> pd.DataFrame:
    """Return a table with one row per run, from numbers by setting and seed.

    `place` is the setting's row, from 1.
    """
    found = [
        (place + BELOW, label, seed, value)
        for place, (label, of) in enumerate(numbers.items(), 1)
        for seed, value in of.items()
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


def _references(row: Row, figure: str) -> Iterator[tuple[str, float]]:
    known = row.references
    if known is None or figure not in OF_REFERENCES:
        return
    each: tuple[Best | None, ...] = (known.uniform, known.majority, known.linear, known.best)
    process, (*others, _) = row.experiment.generator, REFERENCES
    for name, best in zip([*others, process.best_words.best], each, strict=True):
        if best is None:
            continue
        if figure != "learned":
            yield name, getattr(best, figure)
        elif (share := learned_share(best, known.best, process.vocabulary.size)) is not None:
            yield name, share.share


def _published_table(found: Iterable[tuple[int, str, str, float | None]]) -> pd.DataFrame:
    """Return a table of published numbers, from place, setting, source and number."""
    known = [(place + BELOW, *each, value) for place, *each, value in found if value is not None]
    return pd.DataFrame(known, columns=["place", "setting", "source", "value"])


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
        figure: The result to draw: the name of a measure or a metric.
        published: The rows of the blog post, whose results are drawn as open marks.
        climbs: Whether a line leads from each mean to the next.
    """
    numbers = {
        label: {} if interval_of(row, figure) is None else figures_of(row, figure)
        for label, row in zip(labels, rows, strict=True)
    }
    marks = (
        (place, labels[place - 1], source, value)
        for place, row in enumerate(published, 1)
        for source, value in zip([*_SHAPES][1:], row.published, strict=True)
    )
    references = references_table(rows, figure)
    return _dots(
        seeds_table(numbers),
        means_table(rows, labels, figure),
        references,
        None,
        _published_table(marks) if published else None,
        labels=tuple(labels),
        title=title_of(figure),
        is_share=figure == "learned",
        has_legend=figure in OF_REFERENCES,
        domain=(0.0, 1.0) if figure == "exact_match" else None,
        climbs=climbs,
        names=tuple(dict.fromkeys(references["reference"]) or REFERENCES),
    )


def claim_chart(verdict: Verdict) -> Drawing:
    """Draw the number of every run as a dot, above the claimed range.

    The published number is an open diamond.
    """
    check = verdict.check
    title = "difference in " * bool(check.minus) + title_of(check.measure)
    return _claims({"": verdict.numbers}, {"": check}, {"": check.published}, title=title)


def result_chart(known: KnownResult, numbers: Numbers) -> Drawing:
    """Draw the number that the first claim of a result is about, with one row per setting.

    Of many settings, those that no claim is about are left out. A row has the claimed range and
    the published number of this setting, if there are any.
    """
    measure = known.checks[0].measure
    alone = (check for check in known.checks if check.measure == measure and not check.minus)
    checks = {check.setting: check for check in alone}
    published = {label: check.published for label, check in checks.items()} | {**known.published}
    shown = list(known.settings)
    if len(shown) > _MOST_SETTINGS:
        claimed = {label for check in known.checks for label in (check.setting, check.minus)}
        shown = [label for label in shown if label in claimed]
    runs = {label: numbers[label].get(measure, {}) for label in shown}
    return _claims(runs, checks, published, title=title_of(measure))


def _claims(
    runs: Mapping[str, Mapping[int, float]],
    checks: Mapping[str, Check],
    published: Mapping[str, float | None],
    *,
    title: str,
) -> Drawing:
    """Draw numbers by the label of their row and by seed, with claimed ranges and their source."""
    places = {label: place for place, label in enumerate(runs, 1)}
    table = seeds_table(runs)
    marks = _published_table(
        (place, label, "published", published.get(label)) for label, place in places.items()
    )
    ends = [end for check in checks.values() for end in (check.least, check.most)]
    shown = [*table["value"], *filter(math.isfinite, ends), *marks["value"]]
    margin = _BESIDE * (max(shown) - min(shown)) or 0.1
    low, high = min(shown) - margin, max(shown) + margin
    ranges = [
        (place - _HALF, place + _HALF, max(check.least, low), min(check.most, high))
        for label, check in checks.items()
        for place in [places[label] + BELOW]
    ]
    columns = ["above", "below", "low", "high"]
    return _dots(
        table,
        None,
        None,
        pd.DataFrame(ranges, columns=columns),
        marks,
        labels=tuple(runs),
        title=title,
        domain=(low, high),
    )


@drawn_once
def _dots(
    runs: Rows,
    means: Rows | None,
    references: Rows | None,
    claimed: Rows | None,
    published: Rows | None,
    *,
    labels: Sequence[str],
    title: str,
    is_share: bool = False,
    has_legend: bool = False,
    domain: tuple[float, float] | None = None,
    climbs: bool = False,
    names: Sequence[str] = tuple(REFERENCES),
) -> Chart:
    scale = alt.Scale(zero=False)
    if domain is not None:
        scale = alt.Scale(domain=domain, nice=False, zero=False)
    look: dict[str, Any] = {"format": ".0%"} if is_share else {}
    axis = alt.Axis(tickCount=8 if claimed is None else 5, labelOverlap=True, **look)
    # In one line, a long title would not fit on a phone.
    lines = title if len(title) <= _MOST_IN_LINE else textwrap.wrap(title, _MOST_IN_LINE)
    x, y = partial(alt.X, title=lines, scale=scale, axis=axis), partial(_row_axis, labels=labels)
    form = ".1%" if is_share else ".4f"
    value, setting = tip("value:Q", title, form), [tip("setting:N")] * any(labels)
    layers = []
    if claimed is not None:
        ranges = alt.Chart(claimed).encode(x=x("low:Q"), x2="high:Q", y=y("above:Q"), y2="below:Q")
        layers.append(ranges.mark_rect(color=HUES.truth, opacity=0.2))
    if references is not None:
        columns = 1 if _are_beside(labels) and max(map(len, labels)) > _MOST_FOR_TWO else 2
        in_row = alt.ExprRef(f"width > {_FOR_FOUR} ? 4 : {columns}")
        legend = top_legend(symbolType="stroke", symbolSize=300, columns=in_row)
        known = alt.Chart(references).encode(
            x=x("value:Q"),
            y=y("above:Q"),
            y2="below:Q",
            strokeDash=by_name(
                alt.StrokeDash,
                "reference",
                names,
                [REFERENCES.get(each, REFERENCES["best possible"]) for each in names],
                legend=legend if has_legend else None,
            ),
            tooltip=[tip("reference:N"), value],
        )
        hue = alt.when(f"datum.reference == '{REFERENCE}'")
        hue = hue.then(alt.value(HUES.reference)).otherwise(alt.value(HUES.truth))
        layers.append(known.encode(color=hue).mark_rule(strokeWidth=1.6))
    each = alt.Chart(runs).encode(
        x=x("value:Q"), y=y("place:Q"), tooltip=[*setting, tip("seed:O"), value]
    )
    # Alone, the dots are larger.
    size, mark_size = (70, 130) if means is None else (44, 90)
    dots = each.mark_circle(color=HUES.learned, size=size, opacity=1, stroke=GROUND)
    layers += [dots] if means is None else _means(means, dots, x, y, setting, title, form, climbs)
    if published is not None:
        sources = by_name(alt.Shape, "source", _SHAPES, _SHAPES.values(), legend=None)
        marks = alt.Chart(published).encode(
            x=x("value:Q"),
            y=y("place:Q"),
            shape=sources,
            tooltip=[*setting, tip("source:N", " "), tip("value:Q", title, ".3f")],
        )
        outline = {"size": mark_size, "strokeWidth": 2, "filled": False, "opacity": 1}
        layers.append(marks.mark_point(color=INK, **outline))
    return _with_rows(labels, layers, least=_FEW if claimed is None else 100)


def _means(
    means: Rows, dots: Chart, x: Any, y: Any, setting: list, title: str, form: str, climbs: bool
) -> list[Chart]:
    """Return the layers of means and intervals, with the dots of runs between them."""
    base = alt.Chart(means).encode(y=y("place:Q"))
    span = base.transform_filter("isValid(datum.low)").encode(x=x("low:Q"), x2="high:Q")
    mean = base.encode(
        x=x("value:Q"),
        tooltip=[
            *setting,
            tip("value:Q", "mean", form),
            tip("interval:N", "95 % interval"),
            tip("n:Q", "seeds", "d"),
        ],
    )
    path = mean.encode(order=alt.Order("place:Q"))
    return [
        *[path.mark_line(color=HUES.learned, strokeWidth=1.2, opacity=0.5)] * climbs,
        span.mark_rule(color=HUES.learned, strokeWidth=2, opacity=0.6),
        dots,
        mean.mark_point(filled=True, shape="diamond", size=110, opacity=1, color=HUES.learned),
    ]


def _with_rows(labels: Sequence[str], layers: Sequence[Chart], *, least: int) -> Chart:
    """Layer charts over rows of equal height, one per label, with its label beside or in it.

    The chart is at least `least` pixels high.
    """
    layers = list(layers)
    if not _are_beside(labels):
        names = [{"place": place - 0.27, "name": label} for place, label in enumerate(labels, 1)]
        named = alt.Chart(alt.InlineData(names)).encode(
            y=_row_axis("place:Q", labels), text="name:N"
        )
        layers.append(named.mark_text(align="left", color=INK, x=2, fontSize=12))
    # By default, legends would make the rows smaller.
    sizes = alt.AutoSizeParams(type="fit-x", contains="padding")
    height = max(_ROW * len(labels), least)
    return alt.layer(*layers).properties(height=height, autosize=sizes)


def _are_beside(labels: Sequence[str]) -> bool:
    return max(len(textwrap.wrap(label, _MOST_BESIDE)) for label in labels) <= _MOST_LINES


def _row_axis(field: str, labels: Sequence[str]) -> alt.Y:
    """Return the vertical axis of settings, from row 1 at the top."""
    axis, middle = None, 0.0
    if _are_beside(labels):
        middle = BELOW
        lines = [textwrap.wrap(label, _MOST_BESIDE) or [""] for label in labels]
        name = f"{json.dumps(lines, ensure_ascii=False)}[round(datum.value) - 1]"
        look = {"grid": False, "ticks": False, "domain": False, "labelColor": INK, "labelLimit": 0}
        at = [place + middle for place in range(1, len(labels) + 1)]
        axis = alt.Axis(values=at, labelExpr=name, title=None, **look)
    # The same scale in all layers, so that their rows are aligned.
    ends = [len(labels) + 0.5 + middle, 0.5 + middle]
    return alt.Y(field, axis=axis, scale=alt.Scale(domain=ends, nice=False, zero=False))


def plot_chart(plot: Plot) -> Drawing:
    """Draw a plot of one run of a known result."""
    table = pd.DataFrame(plot.points, columns=["name", "at", "value"])
    if plot.look != "line":
        return _points(table, look=plot.look, x=plot.x, y=plot.y)
    lines: dict[str, list[tuple[float, float]]] = {}
    for name, *at in plot.points:
        lines.setdefault(name, []).append((at[0], at[1]))
    return lines_chart(
        pd.concat(series_table(name, *zip(*line, strict=True)) for name, line in lines.items()),
        x=Scale(plot.x, ",d", ",d", kind="log"),
        y=Scale(plot.y, ".3f"),
        series=distinct(lines),
        look="line",
        tips=(),
        height=_PLOT_HEIGHT,
    )


@drawn_once
def _points(table: Rows, *, look: str, x: str, y: str) -> Chart:
    """Draw bars, or each point as its name."""
    base = alt.Chart(table).encode(tooltip=[tip("at:Q", x), tip("value:Q", y, ".3f")])
    if look == "bar":
        axis = alt.Axis(labelAngle=0, labelOverlap=True)
        bars = base.encode(x=alt.X("at:O", title=x, axis=axis), y=alt.Y("value:Q", title=y))
        return bars.mark_bar(color=HUES.learned).properties(height=_PLOT_HEIGHT)
    padded = alt.Scale(zero=False, padding=14)
    named = base.encode(
        x=alt.X("at:Q", title=x, scale=padded),
        y=alt.Y("value:Q", title=y, scale=padded),
        text="name:N",
    )
    return sized(named.mark_text(color=HUES.learned), _PLOT_HEIGHT, _PLOT_HEIGHT)
