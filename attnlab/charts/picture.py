"""Charts as files: SVG and PNG, made without a browser and without a network."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import vl_convert

from attnlab.charts.drawing import Drawing

# Screens and paper want more than one dot a unit.
_DOTS = 2
_PADDING = 16
# As on the page, where the browser adds them.
_CONFIG = {
    "background": "white",
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "gridColor": "#e3e6ee", "titlePadding": 8},
    "legend": {"labelFontSize": 12, "titleFontSize": 12},
    "title": {"fontSize": 16, "subtitleFontSize": 12, "anchor": "start", "offset": 14},
    "view": {"stroke": "transparent"},
}


def as_picture(drawing: Drawing, *, title: str, subtitles: list[str], width: int) -> dict[str, Any]:
    """The chart by itself, on white: with a title that says what it shows, and its own data."""
    specification = drawing.specification()
    tables = {name: _records(table) for name, table in drawing.tables.items()}
    return specification | {
        "datasets": specification["datasets"] | tables,
        "title": {"text": title, "subtitle": subtitles},
        "width": width,
        "padding": _PADDING,
        "config": specification["config"] | _CONFIG,
    }


def to_svg(picture: Mapping[str, Any]) -> str:
    """The picture as an SVG document."""
    return vl_convert.vegalite_to_svg(picture)


def to_png(picture: Mapping[str, Any]) -> bytes:
    """The picture as a PNG file, two dots a unit."""
    return vl_convert.vegalite_to_png(picture, scale=_DOTS)


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    # JSON has no NaN.
    return table.astype(object).where(table.notna(), None).to_dict("records")
