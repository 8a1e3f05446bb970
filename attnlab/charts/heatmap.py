"""Heatmaps with a cell for each value, over a table with one row per cell."""

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from attnlab.charts.drawing import Chart, Rows, drawn_once, sized
from attnlab.charts.style import GROUND, INK, SHARES, Ramp

Channel = TypeVar("Channel", alt.X, alt.Y)
# Pixels of a chart of square cells: its longer side, which fits a panel on a phone, and its
# largest cells.
_SQUARE_SIDE, MOST_CELL = 240, 40
# Maximum number of labels on an axis; on a phone more would overlap.
_MOST_LABELS = 20
# If labels are closer than this many pixels, as on a phone, every other label is dropped.
PIXELS_APART = 3
# Pixels of a letter of a label.
_LETTER = 7
# Opacity of cells that do not count.
FADED = 0.35
# In a file numbers have no room in more cells than this.
_MOST_NUMBERS = 50


def tip(field: str, title: str | None = None, form: str | None = None) -> alt.Tooltip:
    """Return a line of a tooltip."""
    title_given = alt.Undefined if title is None else title
    return alt.Tooltip(field, title=title_given, format=alt.Undefined if form is None else form)


class Side(NamedTuple):
    """An axis of cells.

    Attributes:
        field: The column of the table.
        title: The title of the axis.
        places: The values of the column, from the left or the top.
        names: Labels of the values, if not the values themselves.
        colour: The colour of the title.
        look: Further properties of `alt.Axis`, as pairs.
        turns: Whether labels that do not fit side by side are turned. By default, every other label
            is left out.
    """

    field: str
    title: str | None
    places: tuple[Any, ...]
    names: tuple[Any, ...] | None = None
    colour: str | None = None
    look: tuple[tuple[str, Any], ...] = ()
    turns: bool = False

    def axis(self, channel: type[Channel]) -> Channel:
        """Return the channel `alt.X` or `alt.Y`."""
        places = list(self.places)
        look: dict[str, Any] = {
            "values": places[:: -(-len(places) // _MOST_LABELS)],
            "labelAngle": 0,
            "labelOverlap": "parity",
            "labelSeparation": PIXELS_APART if channel is alt.X else 0,
            "ticks": False,
            "domain": False,
        }
        if self.names is not None:
            texts, at = (json.dumps(list(s), ensure_ascii=False) for s in (self.names, places))
            look["labelExpr"] = f"{texts}[indexof({at}, datum.value)]"
        if self.colour is not None:
            look["titleColor"] = self.colour
        if self.turns:
            longest = max((len(str(place)) for place in places), default=0)
            needed = len(places) * (_LETTER * longest + PIXELS_APART)
            look["labelAngle"] = alt.ExprRef(f"width > {needed} ? 0 : -90")
        # Cells start exactly at the axis. By default they are centred: a rounding error could put
        # the first cell before the axis, and Vega would not label it.
        scale = alt.Scale(domain=places, align=0)
        axis = alt.Axis(**look | dict(self.look))
        return channel(f"{self.field}:O", title=self.title, scale=scale, axis=axis)


def side(
    channel: type[Channel],
    field: str,
    title: str | None,
    places: Sequence[Any],
    *,
    names: Sequence[Any] | None = None,
    colour: str | None = None,
    **axis: Any,
) -> Channel:
    """Return the channel of a `Side`, with further properties of its `axis`."""
    labels = None if names is None else tuple(names)
    return Side(field, title, tuple(places), labels, colour, tuple(axis.items())).axis(channel)


class Shade(NamedTuple):
    """The colours of cells, and their legend: a bar above the chart.

    Attributes:
        title: The title of the legend.
        ramp: The colours.
        domain: The ends of the scale; for None, a scale around 0 that fits the data.
        values: The labels of the legend, by default the ends and the middle of the domain.
        form: Their format.
        length: The length of the legend in pixels.
        legend: Whether there is a legend.
        cells: A Vega expression that is true for the cells with these colours; "" for all cells.
    """

    title: str | None
    ramp: Ramp = SHARES
    domain: tuple[float, float] | None = (0, 1)
    values: tuple[float, ...] = ()
    form: str = ".3~g"
    length: int = 100
    legend: bool = True
    cells: str = ""

    def colour(self, field: str, **scale: Any) -> alt.Color:
        """Return the channel of a column, with further properties of its `scale`."""
        values, ends = self.values, {"domainMid": 0}
        if self.domain is not None:
            ends = {"domain": list(self.domain)}
            values = values or (self.domain[0], sum(self.domain) / 2, self.domain[1])
        legend = ramp_legend(length=self.length, form=self.form, values=values or None)
        return alt.Color(
            f"{field}:Q",
            title=self.title,
            # The default, interpolation by hue, would fade orange through red.
            scale=alt.Scale(range=list(self.ramp), clamp=True, interpolate="rgb", **ends, **scale),
            legend=legend if self.legend else None,
        )


def shade(
    field: str,
    title: str | None,
    ramp: Ramp,
    domain: tuple[float, float] | None,
    *,
    values: Sequence[float] = (),
    form: str = ".3~g",
    length: int = 100,
    legend: bool = True,
    **scale: Any,
) -> alt.Color:
    """Return the channel of a `Shade`, with further properties of its `scale`."""
    colours = Shade(title, ramp, domain, tuple(values), form, length, legend)
    return colours.colour(field, **scale)


def ramp_legend(
    *, length: int = 100, form: str = "", values: Sequence[float] | None = None, **more: Any
) -> alt.Legend:
    """Return a colour bar of `length` pixels above the chart, to the right of its title."""
    return alt.Legend(
        orient="top",
        direction="horizontal",
        titleOrient="left",
        titleLimit=180,
        gradientLength=length,
        gradientThickness=10,
        format=form,
        **({} if values is None else {"values": list(values)}),
        **more,
    )


def heatmap(
    table: Rows,
    *,
    x: alt.X,
    y: alt.Y,
    colour: alt.Color | Mapping[str, alt.Color],
    tooltip: Sequence[alt.Tooltip],
    number: alt.Text | None = None,
    strong: str = "",
    frames: Sequence[tuple[str, Mapping[str, Any]]] = (),
    **look: Any,
) -> Chart:
    """Return coloured cells and, if given, numbers inside and frames around some of them.

    Args:
        table: One row per cell. A cell without a value is not drawn.
        x: The columns, as returned by `side`.
        y: The rows, as returned by `side`.
        colour: The colours, as returned by `shade`; or several, each with a Vega expression that is
            true for its cells.
        tooltip: The lines of the tooltip.
        number: The text in the cells.
        strong: A Vega expression that is true for cells so dark that they need light text.
        frames: Vega expressions that are true for framed cells, each with the style of the frame.
        **look: The style of the numbers.
    """
    base = alt.Chart(table).encode(x=x, y=y, tooltip=list(tooltip))
    several = colour if isinstance(colour, Mapping) else {"": colour}
    layers = [
        (base.transform_filter(wanted) if wanted else base).mark_rect().encode(color=each)
        for wanted, each in several.items()
    ]
    if number is not None:
        ink = alt.condition(strong, alt.value(GROUND), alt.value(INK))
        layers.append(base.mark_text(**{"fontSize": 12, **look}).encode(text=number, color=ink))
    for wanted, frame in frames:
        layers.append(base.transform_filter(wanted).mark_rect(fill=None, **frame))
    return alt.layer(*layers) if len(layers) > 1 else layers[0]


@drawn_once
def heatmap_chart(
    table: Rows,
    *,
    x: Side,
    y: Side,
    shades: tuple[Shade, ...],
    tips: tuple[tuple[str, str, str], ...],
    value: str = "value",
    number: tuple[str, str] | None = None,
    strong: float = 0.5,
    number_width: int | None = None,
    most_cell: int | None = None,
    clicked: str | None = None,
    faded: str = "",
) -> Chart:
    """Draw a heatmap with one cell per row of a table.

    Args:
        table: One row per cell, as returned by `cells_table`.
        x: The columns of the map.
        y: The rows of the map.
        shades: The colours; several if some cells have other colours.
        tips: The columns of the tooltip, each with its title and, for numbers, its format.
        value: The column that gives the colour.
        number: The column of the numbers inside the cells, and their format.
        strong: The value above which a cell needs light text.
        number_width: Pixels that a cell must have for its number to be shown, unless that is 0.00.
            A file has room for all numbers.
        most_cell: Draws square cells, the same on all screens, of at most this many pixels.
        clicked: The name of the selection that a click on a cell sets.
        faded: A Vega expression that is true for faded cells.
    """
    look: dict[str, Any] = {}
    if number_width is not None:
        room = f"width >= {number_width * len(x.places)}"
        shown = f"{room} && datum.{value} >= 0.005 ? 1 : 0"
        look = {"fontSize": 11, "opacity": alt.ExprRef(shown)}
    chart = heatmap(
        table,
        x=x.axis(alt.X),
        y=y.axis(alt.Y),
        colour={each.cells: each.colour(value) for each in shades},
        tooltip=[
            tip(f"{at}:{'Q' if form else 'N'}", name, form or None) for at, name, form in tips
        ],
        number=None if number is None else alt.Text(f"{number[0]}:Q", format=number[1]),
        strong=f"datum.{value} > {strong}",
        **look,
    )
    if len(shades) > 1:
        chart = chart.resolve_scale(color="independent")
    if number_width is not None:
        width = number_width * min(len(x.places), _MOST_NUMBERS)
        chart = chart.properties(usermeta={"picture": {"width": width}})
    if clicked is not None:
        chart = chart.add_params(alt.selection_point(name=clicked, fields=[y.field, x.field]))
    if faded:
        chart = chart.encode(opacity=alt.condition(faded, alt.value(FADED), alt.value(1.0)))
    if most_cell is not None:
        chart = in_squares(chart, len(y.places), len(x.places), most=most_cell)
    return chart


def in_squares(chart: Chart, rows: int, columns: int, *, most: int = MOST_CELL) -> Chart:
    """Return a heatmap with square cells of at most `most` pixels, of the same size everywhere."""
    cell = max(1, min(most, _SQUARE_SIDE // max(rows, columns)))
    return sized(chart, cell * columns, cell * rows)


def cells_table(
    row: tuple[str, Sequence[Any]],
    column: tuple[str, Sequence[Any]],
    *,
    seen: Bool[np.ndarray, "rows columns"] | None = None,
    **values: Any,
) -> pd.DataFrame:
    """Return a table with one row per cell of `seen`, with the cells' `values` by name.

    `row` and `column` are the names of the columns that have a cell's place, each with the places
    of all rows or columns of the map.
    """
    cells = np.nonzero(np.ones((len(row[1]), len(column[1]))) if seen is None else seen)
    sides = zip((row, column), cells, strict=True)
    places = {name: np.asarray(places)[at] for (name, places), at in sides}
    return pd.DataFrame(places | {name: np.asarray(each)[cells] for name, each in values.items()})


def top_of_scale(*values: Float[np.ndarray, "..."]) -> float:
    """Return the smallest of 0.01, 0.03, 0.1, 0.3, 1, 3 … that no absolute value exceeds.

    With so few possible ends, different maps often share a scale, and a live map rarely changes it.
    """
    most = max((float(np.abs(each).max()) for each in values if each.size), default=0.0)
    ends = (step * 10.0**power for power in itertools.count(-2) for step in (1.0, 3.0))
    # A fraction may be slightly larger than 1, by rounding.
    return round(next(end for end in ends if most <= end * (1 + 1e-6)), 2)
