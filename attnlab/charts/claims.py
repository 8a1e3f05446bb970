"""Charts of known results: numbers of all runs beside a claimed range, and plots of one run."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import altair as alt
import pandas as pd

from attnlab.charts.dots import BELOW, row_axis, title_of, with_rows
from attnlab.charts.drawing import Chart, Drawing, Rows, drawn_once, sized
from attnlab.charts.heatmap import tip
from attnlab.charts.lines import Scale, distinct, lines_chart, series_table
from attnlab.charts.style import GROUND, HUES, INK
from attnlab.known_results import Check, KnownResult, Numbers, Plot, Verdict

# Height in pixels of few rows; half the height of a range, in rows.
_HEIGHT, _HALF = 100, 0.24
_PLOT_HEIGHT = 220
# Space beside the numbers, as a share of their range.
_BESIDE = 0.12


def claim_title(check: Check) -> str:
    """Return the name of the number that a claim is about."""
    name = _name(check.measure)
    return f"difference in {name}" if check.minus else name


def _name(measure: str) -> str:
    return "loss above the floor (nats)" if measure == "excess" else title_of(measure)


def claim_chart(verdict: Verdict) -> Drawing:
    """Draw the number of every run as a dot, above the claimed range.

    The published number is an open diamond.
    """
    check = verdict.check
    published = {} if check.published is None else {"": check.published}
    return _rows({"": verdict.numbers}, {"": check}, published, title=claim_title(check))


def result_chart(known: KnownResult, numbers: Numbers) -> Drawing:
    """Draw the number that the first claim of a result is about, with one row per setting.

    A row has the claimed range and the published number of this setting, if there are any.
    """
    measure = known.checks[0].measure
    about = {
        check.setting: check
        for check in known.checks
        if check.measure == measure and not check.minus
    }
    published = {
        name: check.published for name, check in about.items() if check.published is not None
    }
    runs = {setting: numbers[setting].get(measure, {}) for setting in known.settings}
    return _rows(runs, about, published | {**known.published}, title=_name(measure))


def _rows(
    runs: Mapping[str, Mapping[int, float]],
    claims: Mapping[str, Check],
    published: Mapping[str, float],
    *,
    title: str,
) -> Drawing:
    """Draw numbers of runs, by label of their row and by seed."""
    places = {label: place + BELOW for place, label in enumerate(runs, 1)}
    found = [
        (places[label], label, seed, value)
        for label, of in runs.items()
        for seed, value in of.items()
    ]
    ends = _finite(end for check in claims.values() for end in (check.least, check.most))
    shown = [*(value for *_, value in found), *ends, *published.values()]
    margin = _BESIDE * (max(shown) - min(shown)) or 0.1
    domain = min(shown) - margin, max(shown) + margin
    ranges = [
        (
            places[label] - _HALF,
            places[label] + _HALF,
            max(check.least, domain[0]),
            min(check.most, domain[1]),
        )
        for label, check in claims.items()
    ]
    marks = [(places[label], value) for label, value in published.items()]
    return _claims(
        pd.DataFrame(found, columns=["place", "setting", "seed", "value"]),
        pd.DataFrame(ranges, columns=["above", "below", "low", "high"]),
        pd.DataFrame(marks, columns=["place", "value"]),
        title=title,
        labels=tuple(runs),
        domain=domain,
    )


def _finite(numbers: Iterable[float]) -> list[float]:
    return [number for number in numbers if abs(number) < float("inf")]


@drawn_once
def _claims(
    runs: Rows,
    claimed: Rows,
    published: Rows,
    *,
    title: str,
    labels: Sequence[str],
    domain: tuple[float, float],
) -> Chart:
    scale = alt.Scale(domain=list(domain), nice=False, zero=False)
    x = partial(alt.X, title=title, scale=scale, axis=alt.Axis(tickCount=5, labelOverlap=True))
    y = partial(row_axis, labels=labels)
    setting = [tip("setting:N")] if any(labels) else []
    look = {"shape": "diamond", "size": 130, "strokeWidth": 2, "filled": False, "opacity": 1}
    return with_rows(
        labels,
        alt.Chart(claimed)
        .encode(x=x("low:Q"), x2="high:Q", y=y("above:Q"), y2="below:Q")
        .mark_rect(color=HUES.truth, opacity=0.2),
        alt.Chart(runs)
        .encode(
            x=x("value:Q"),
            y=y("place:Q"),
            tooltip=[*setting, tip("seed:O"), tip("value:Q", title, ".4f")],
        )
        .mark_circle(color=HUES.learned, size=70, opacity=0.9, stroke=GROUND),
        alt.Chart(published)
        .encode(x=x("value:Q"), y=y("place:Q"), tooltip=[tip("value:Q", "published", ".3f")])
        .mark_point(color=INK, **look),
        least=_HEIGHT,
    )


def plot_chart(plot: Plot) -> Drawing:
    """Draw a plot of a known result."""
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
