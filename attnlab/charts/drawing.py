"""A chart as it is handed on: its form, written once, the tables that change, and its files."""

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

# A page has about ten charts, and a visitor tries a few dozen forms of them.
_MOST_FORMS = 512
# Tables have the types that they need. To convert them, Vega would copy every row and keep a note
# of each for as long as the chart lives: megabytes a minute in a live one.
_AS_IT_IS = alt.DataFormat(parse=None)
# Of a file: dots for each unit, as screens and paper want more than one, and its margin.
_DOTS, _PADDING = 2, 16

# What a chart function sees of a table: its name, never its rows.
Rows = alt.NamedData


@dataclasses.dataclass(frozen=True, eq=False)
class Drawing:
    """A Vega-Lite specification as JSON, and the tables its marks are drawn from, by name.

    Attributes:
        form: The specification, in the colours of the light theme.
        tables: The tables by name.
        height: Pixels, where the form does not say.
    """

    form: str
    tables: Mapping[str, pd.DataFrame]
    height: int | None = None

    def specification(self, *, dark: bool = False, large: bool = False) -> dict[str, Any]:
        """Return a new specification, with the current tables under `datasets`.

        Args:
            dark: Whether it is for a dark theme.
            large: Whether its letters are a third larger, for a projector.
        """
        form = json.loads(on_dark(self.form) if dark else self.form)
        if self.height is not None:
            form["height"] = self.height
        # Rows that belong to the form, such as those of a rule, are there already.
        form["datasets"] = form.get("datasets", {}) | dict(self.tables)
        return with_large_type(form) if large else form


def drawn_once(build: Callable[..., alt.Chart | alt.LayerChart]) -> Callable[..., Drawing]:
    """Make a function of tables (or None) and hashable options into one that gives a `Drawing`.

    `build` sees each table as a named place, so that the form of the chart cannot depend on the
    rows; it is called once for each combination of options. Building and checking a chart takes
    tens of milliseconds, which is most of the time of a page. The new function also takes the
    `height` of the chart, for those that have none of their own.
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
        # Instead of Altair's default sizes: a page and a file have their own. Labels at the ends
        # of an axis are at their ticks; drawn inwards they would meet their neighbours. The text
        # alternative of a chart says what it shows; its marks say nothing to a screen reader.
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
    """Return the chart by itself: with a title, the words below it, and its own data.

    It is on white, or with `dark` on the background of a dark page.
    """
    specification = drawing.specification(dark=dark)
    # JSON has no NaN.
    tables = {
        name: table.astype(object).where(table.notna(), None).to_dict("records")
        for name, table in drawing.tables.items()
    }
    # What the browser adds on the page.
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
    """Return a picture as a PNG file, two dots a unit."""
    # The renderer looks for a glyph of U+FE0F, which asks for an emoji in colour and has none, and
    # then draws none of the text in another font. It has colour without being asked.
    text = json.dumps(picture, ensure_ascii=False).replace("\ufe0f", "")
    return vl_convert.vegalite_to_png(text, scale=_DOTS)
