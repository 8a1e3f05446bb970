"""Charts as files: SVG and PNG, made without a browser and without a network."""

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd
import vl_convert

from attnlab.charts.core.drawing import Drawing

# Screens and paper want more than one dot a unit.
_DOTS = 2
_PADDING = 16


def as_picture(
    drawing: Drawing, *, title: str, subtitles: list[str], width: int, dark: bool = False
) -> dict[str, Any]:
    """The chart by itself: with a title that says what it shows, and its own data.

    It lies on white, or with `dark` on the ground of a dark page, which its colours are made for.
    """
    specification = drawing.specification()
    tables = {name: _records(table) for name, table in drawing.tables.items()}
    return specification | {
        "datasets": specification["datasets"] | tables,
        "title": {"text": title, "subtitle": subtitles},
        "width": width,
        "padding": _PADDING,
        "config": specification["config"] | _config(dark),
    }


def _config(dark: bool) -> dict[str, Any]:
    """What the browser adds on the page."""
    ground, ink, grid = ("#12151c", "#e6e9f0", "#2b303c") if dark else ("white", "black", "#e3e6ee")
    words = {"labelFontSize": 12, "titleFontSize": 12, "labelColor": ink, "titleColor": ink}
    heading = {"fontSize": 16, "subtitleFontSize": 12, "color": ink, "subtitleColor": ink}
    return {
        "background": ground,
        "axis": {**words, "gridColor": grid, "titlePadding": 8},
        "legend": words,
        "title": {**heading, "anchor": "start", "offset": 14},
        "view": {"stroke": "transparent"},
    }


def to_svg(picture: Mapping[str, Any]) -> str:
    """The picture as an SVG document."""
    return vl_convert.vegalite_to_svg(picture)


def to_png(picture: Mapping[str, Any]) -> bytes:
    """The picture as a PNG file, two dots a unit."""
    # The renderer looks for a glyph of U+FE0F, which asks for an emoji in colour and has none, and
    # then draws none of the text in another font. It has colour without being asked.
    text = json.dumps(picture, ensure_ascii=False).replace("\ufe0f", "")
    return vl_convert.vegalite_to_png(text, scale=_DOTS)


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    # JSON has no NaN.
    return table.astype(object).where(table.notna(), None).to_dict("records")
