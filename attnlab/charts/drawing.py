"""A chart: its form, built once, the tables that change, and its files."""

import dataclasses
import functools
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any

import altair as alt
import pandas as pd
import vl_convert

from attnlab.charts.style import on_dark, with_large_type

# A page has about ten charts, and a user tries a few dozen forms of them.
_MOST_FORMS = 512
# Tables already have the right types. To convert them, Vega would copy every row and keep a note of
# each for as long as the chart lives: megabytes a minute in a live chart.
_AS_IT_IS = alt.DataFormat(parse=None)
# Of a file: dots per unit, since screens and paper need more than one, and its margin.
_DOTS, _PADDING = 2, 16

# What a chart function sees of a table: its name, never its rows.
Rows = alt.NamedData


@dataclasses.dataclass(frozen=True, eq=False)
class Drawing:
    """A Vega-Lite specification as JSON, and the tables of its marks by name.

    Attributes:
        form: The specification, in the colours of the light theme.
        tables: The tables by name.
        height: Pixels, if the form has no height.
    """

    form: str
    tables: Mapping[str, pd.DataFrame]
    height: int | None = None

    def specification(self, *, dark: bool = False, large: bool = False) -> dict[str, Any]:
        """Return a new specification, with the current tables under `datasets`.

        Args:
            dark: Whether it is for a dark theme.
            large: Whether its text is a third larger, for a projector.
        """
        form = json.loads(on_dark(self.form) if dark else self.form)
        if self.height is not None:
            form["height"] = self.height
        # Rows that are part of the form, such as those of a rule, are already there.
        form["datasets"] = form.get("datasets", {}) | dict(self.tables)
        return with_large_type(form) if large else form


def drawn_once(build: Callable[..., alt.Chart | alt.LayerChart]) -> Callable[..., Drawing]:
    """Turn a function of tables (or None) and hashable options into one that returns a `Drawing`.

    `build` gets a placeholder for each table, so the form of the chart cannot depend on the rows.
    It is called once for each combination of options: building and checking a chart takes tens of
    milliseconds, most of a page's time. The new function also takes a `height`, for charts that
    have none.
    """
    kind = inspect.Parameter.KEYWORD_ONLY
    names = [p.name for p in inspect.signature(build).parameters.values() if p.kind != kind]

    @functools.lru_cache(_MOST_FORMS)
    def form(present: tuple[bool, ...], **options: Any) -> str:
        places = [
            alt.NamedData(name, format=_AS_IT_IS) if is_there else None
            for name, is_there in zip(names, present, strict=True)
        ]
        specification = build(*places, **options).to_dict()
        # Replaces Altair's default sizes: a page and a file have their own. Labels at the ends of
        # an axis stay at their ticks; moved inwards they would meet their neighbours. Screen
        # readers get the chart's text alternative, not its marks.
        unmoved = {"labelFlush": False}
        specification["config"] = {"axisX": unmoved, "axisY": unmoved, "mark": {"aria": False}}
        return json.dumps({"padding": {"right": 16}} | specification)

    @functools.wraps(build)
    def draw(*tables: pd.DataFrame | None, height: int | None = None, **options: Any) -> Drawing:
        present = tuple(table is not None for table in tables)
        named = zip(names, tables, strict=True)
        found = {name: table for name, table in named if table is not None}
        return Drawing(form(present, **options), found, height)

    return draw


def as_picture(
    drawing: Drawing, *, title: str, subtitles: list[str], width: int, dark: bool = False
) -> dict[str, Any]:
    """Return the chart alone: with a title, the text below it, and its own data.

    The background is white or, with `dark`, that of a dark page.
    """
    specification = drawing.specification(dark=dark)
    # JSON has no NaN.
    tables = {
        name: table.astype(object).where(table.notna(), None).to_dict("records")
        for name, table in drawing.tables.items()
    }
    # On the page the browser adds this.
    ground, ink, grid = ("#12151c", "#e6e9f0", "#2b303c") if dark else ("white", "black", "#e3e6ee")
    words = {"labelFontSize": 12, "titleFontSize": 12, "labelColor": ink, "titleColor": ink}
    heading = {"fontSize": 16, "subtitleFontSize": 12, "color": ink, "subtitleColor": ink}
    return specification | {
        "datasets": specification["datasets"] | tables,
        "title": {"text": title, "subtitle": subtitles},
        "width": width,
        "padding": _PADDING,
        "config": specification["config"]
        | {
            "background": ground,
            "axis": {**words, "gridColor": grid, "titlePadding": 8},
            "legend": words,
            "title": {**heading, "anchor": "start", "offset": 14},
            "view": {"stroke": "transparent"},
        },
    }


def to_svg(picture: Mapping[str, Any]) -> str:
    """Return a picture as an SVG document, made without a browser and without a network."""
    return vl_convert.vegalite_to_svg(picture)


def to_png(picture: Mapping[str, Any]) -> bytes:
    """Return a picture as a PNG file with two dots per unit."""
    # U+FE0F asks for a coloured emoji. The renderer finds no glyph for it and then drops text in
    # other fonts. It draws emoji in colour anyway.
    text = json.dumps(picture, ensure_ascii=False).replace("\ufe0f", "")
    return vl_convert.vegalite_to_png(text, scale=_DOTS)
