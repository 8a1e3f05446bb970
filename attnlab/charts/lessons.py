"""Charts of two lessons: positional encodings as lines and paths, and the bottleneck."""

from collections.abc import Iterable, Sequence

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.drawing import Chart, Drawing, Rows, drawn_once, sized
from attnlab.charts.heatmap import ramp_legend, tip
from attnlab.charts.lines import SHAPES, Scale, Series, lines_chart
from attnlab.charts.style import HUES, SHARES, past_hue
from attnlab.configuration.number_text import show_range

_MOST_NUMBERED = 12
# Side of a path in pixels, which fits a phone.
_PATH_SIDE = 288
# Horizontal distance between the marks of two widths at the same length, in units of length.
_APART = 0.14
_WIDTH = "width of the state"


def component_table(rows: Float[np.ndarray, "length features"]) -> pd.DataFrame:
    """Return a table with one row per position and component, both from 1.

    At most a dozen components have a label in `name`, each at a different position.
    """
    length, width = rows.shape
    day, component = (index.ravel() for index in np.indices(rows.shape))
    named = np.arange(0, width, -(-width // _MOST_NUMBERED))
    places = np.round((np.arange(named.size) + 0.5) / named.size * (length - 1)).astype(int)
    name = np.full(rows.shape, "", dtype=object)
    name[places, named] = (named + 1).astype(str)
    return pd.DataFrame(
        {"day": day + 1, "component": component + 1, "value": rows.ravel(), "name": name.ravel()}
    )


@drawn_once
def component_chart(table: Rows, *, domain: tuple[float, float]) -> Chart:
    """Draw one line per component, from the first (strong) to the last (faint)."""
    base = alt.Chart(table).encode(
        x=alt.X("day:Q", title="position", axis=alt.Axis(tickMinStep=1, grid=False)),
        y=alt.Y("value:Q", title="component", scale=alt.Scale(domain=list(domain))),
        tooltip=[tip("day:Q", "position"), tip("component:Q"), tip("value:Q", None, ".4f")],
    )
    scale = alt.Scale(range=[SHARES.high, SHARES.middle])
    legend = ramp_legend(tickMinStep=1, form="d")
    colour = alt.Color("component:Q", title="component", scale=scale, legend=legend)
    return alt.layer(
        base.mark_line(strokeWidth=1.6).encode(color=colour, detail="component:N"),
        base.mark_text(dy=-8, fontSize=11, fontWeight="bold", color=HUES.truth).encode(
            text="name:N"
        ),
    )


def path_table(x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    """Return a table with one row per position: x, y and, for some, the position as a label."""
    days = np.arange(1, len(x) + 1)
    every = max(1, len(x) // 8)
    names = np.where((days - 1) % every == 0, days, "").astype(str)
    return pd.DataFrame({"day": days, "x": x, "y": y, "name": names})


@drawn_once
def path_chart(table: Rows, *, domain: tuple[float, float], x_title: str, y_title: str) -> Chart:
    """Draw two components as a path over the positions, with labels at some positions.

    Both axes have the same scale, so that a circle is a circle.
    """
    # A margin for the labels of the outermost points.
    padded = alt.Scale(domain=list(domain), padding=14)
    base = alt.Chart(table).encode(
        x=alt.X("x:Q", title=x_title, scale=padded),
        y=alt.Y("y:Q", title=y_title, scale=padded),
        order="day:Q",
    )
    scale = alt.Scale(range=[SHARES.middle, SHARES.high])
    points = base.encode(
        color=alt.Color("day:Q", scale=scale, legend=None),
        tooltip=[
            tip("day:Q", "position"),
            tip("x:Q", x_title, ".4f"),
            tip("y:Q", y_title, ".4f"),
        ],
    )
    path = alt.layer(
        base.mark_line(color=HUES.training, strokeWidth=1),
        points.mark_point(filled=True, size=40, opacity=1),
        base.mark_text(dx=9, dy=-8, color=HUES.truth).encode(text="name:N"),
    )
    return sized(path, _PATH_SIDE, _PATH_SIDE)


def exact_match_chart(
    points: Iterable[tuple[int, int, float, float, float]],
    *,
    lengths: tuple[int, ...],
    bits: Sequence[str],
    widths: Sequence[int],
    attends: bool,
    height: int | None = None,
) -> Drawing:
    """Draw exact match against length, one line per width; the widest line is the strongest.

    `points` are (length, width, mean, low, high). `bits` are labels below the lengths. `attends`
    selects the colour of models with attention.
    """
    table = pd.DataFrame(points, columns=["length", "width", "value", "low", "high"])
    place = table["width"].map(list(widths).index)
    table["at"] = table["length"] + (place - (len(widths) - 1) / 2) * _APART
    table["series"] = [str(width) for width in table["width"]]
    table["interval"] = [
        f"{show_range(100 * low, 100 * high, places=1)} %"
        for low, high in zip(table["low"], table["high"], strict=True)
    ]
    hue = HUES.learned if attends else past_hue(0)
    looks = zip(widths, SHAPES, np.linspace(0.45, 1, len(widths)).tolist(), strict=False)
    return lines_chart(
        table,
        x=Scale(
            "hand size (bits needed to identify the hand)",
            domain=(min(lengths) - 0.6, max(lengths) + 0.6),
            ticks=lengths,
            names=tuple((str(n), f"{b} bits") for n, b in zip(lengths, bits, strict=True)),
        ),
        y=Scale("exact match (% of hands)", ".1%", labels=".0%", domain=(0, 1)),
        series=tuple(
            Series(str(width), hue, shape, opacity=strength) for width, shape, strength in looks
        ),
        noun=_WIDTH,
        legend_title=_WIDTH,
        tips=(("length", "cards", "d"), ("interval", "95 % interval over seeds", "")),
        height=height,
    )
