"""A chart: its specification, which is built once, its data, and its export."""

import base64
import dataclasses
import functools
import html
import inspect
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import altair as alt
import pandas as pd
import vl_convert
from PIL import Image

from attnlab.charts.style import on_dark, with_large_type
from attnlab.configuration.options import OptionError
from attnlab.runs.whole_file import save_bytes

# Cached specifications: a page has about ten charts, and a user tries a few dozen variants of each.
_MOST_SPECS = 512
# Tables already have the right types. If Vega converted them, it would keep data about every row as
# long as the chart exists: megabytes per minute in a live chart.
_AS_IT_IS = alt.DataFormat(parse=None)
# Exported files: pixels per unit, for sharp text on screens and paper, and the margin.
_DOTS, _PADDING = 2, 16
# Pixels of the axes in a file, which has no page to fill.
_WIDTH = 720

# A chart function gets the name of a table, never its rows.
Rows = alt.NamedData
Chart = alt.Chart | alt.LayerChart | alt.FacetChart


@dataclasses.dataclass(frozen=True, eq=False)
class Drawing:
    """A Vega-Lite specification as JSON, and its data as named tables.

    Attributes:
        spec: The specification without data, in the colours of the light theme.
        tables: The tables by name.
        height: Height in pixels, if the specification has none.
    """

    spec: str
    tables: Mapping[str, pd.DataFrame]
    height: int | None = None

    def specification(self, *, dark: bool = False, large: bool = False) -> dict[str, Any]:
        """Return the specification with the tables under `datasets`.

        Args:
            dark: Whether to use the colours of the dark theme.
            large: Whether to make text a third larger, for a projector.
        """
        spec = json.loads(on_dark(self.spec) if dark else self.spec)
        if self.height is not None:
            spec["height"] = self.height
        # Data that are part of the specification, such as the level of a rule, are already there.
        spec["datasets"] = spec.get("datasets", {}) | dict(self.tables)
        return with_large_type(spec) if large else spec

    def save(
        self, path: str | Path, *, title: str = "", width: int = _WIDTH, dark: bool = False
    ) -> None:
        """Write a file: `.png` or `.svg`, or an interactive `.html`, which needs no network.

        Args:
            path: The file; its suffix is the format. An existing file is replaced.
            title: A title above the chart.
            width: Width of the axes in pixels, if the chart has none of its own.
            dark: Whether to use the colours of the dark theme.

        Raises:
            OptionError: For another suffix.
            OSError: If the file cannot be written.
        """
        kind = Path(path).suffix.lower()
        if kind not in _WRITERS:
            problem, remedy = "not the name of a picture", f"End it with {', '.join(_WRITERS)}"
            raise OptionError("path", str(path), problem, remedy)
        picture = as_picture(self, title=title, description=title, width=width, dark=dark)
        save_bytes(_WRITERS[kind](in_file_size(picture)), Path(path))


def sized(chart: Chart, width: int, height: int) -> Chart:
    """Return a chart whose axes have this width and height in pixels, whatever its container."""
    return chart.properties(width=width, height=height, autosize="pad")


def drawn_once(build: Callable[..., Chart]) -> Callable[..., Drawing]:
    """Decorate a chart function, so that it returns a `Drawing` and builds each chart only once.

    `build` takes tables and hashable keyword options; a table that is left out is None. It is
    called once for each set of options, with a placeholder for each table, so the specification
    cannot depend on the rows. The cache matters: building and checking a chart takes tens of
    milliseconds, most of a page's time. The decorated function also takes a `height` in pixels,
    for charts without one.
    """
    kind = inspect.Parameter.KEYWORD_ONLY
    names = [p.name for p in inspect.signature(build).parameters.values() if p.kind != kind]

    @functools.lru_cache(_MOST_SPECS)
    def spec_of(present: tuple[bool, ...], **options: Any) -> str:
        data = [alt.NamedData(name, format=_AS_IT_IS) for name in names]
        places = [each if there else None for each, there in zip(data, present, strict=True)]
        specification = build(*places, **options).to_dict()
        # This replaces Altair's default sizes, since pages and files set their own. Labels at the
        # ends of an axis stay at their ticks; moved inwards they would overlap their neighbours.
        # Screen readers get the chart's text alternative, not its marks.
        unmoved = {"labelFlush": False}
        specification["config"] = {"axisX": unmoved, "axisY": unmoved, "mark": {"aria": False}}
        return json.dumps({"padding": {"right": 16}} | specification)

    @functools.wraps(build)
    def draw(*tables: pd.DataFrame | None, height: int | None = None, **options: Any) -> Drawing:
        tables += (None,) * (len(names) - len(tables))
        present = tuple(table is not None for table in tables)
        named = zip(names, tables, strict=True)
        found = {name: table for name, table in named if table is not None}
        return Drawing(spec_of(present, **options), found, height)

    return draw


def image_address(picture: Image.Image, **how: Any) -> str:
    """Return an image as a `data:` URL of a PNG file; `how` is as in `Image.save`."""
    file = io.BytesIO()
    picture.save(file, "PNG", **how)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def as_picture(
    drawing: Drawing,
    *,
    title: str,
    subtitles: Sequence[str] = (),
    description: str = "",
    width: int,
    dark: bool = False,
) -> dict[str, Any]:
    """Return a specification that can be drawn without a page: with title, subtitles and data.

    An empty title leaves out the subtitles, too. The background is white or, with `dark`, that of
    the dark theme. An SVG has the `description` for screen readers.
    """
    specification = drawing.specification(dark=dark)
    # JSON has no NaN.
    tables = {
        name: table.astype(object).where(table.notna(), None).to_dict("records")
        for name, table in drawing.tables.items()
    }
    # Colours and sizes that Streamlit adds in the browser.
    ground, ink, grid = ("#12151c", "#e6e9f0", "#2b303c") if dark else ("white", "black", "#e3e6ee")
    words = {"labelFontSize": 12, "titleFontSize": 12, "labelColor": ink, "titleColor": ink}
    heading = {"fontSize": 16, "subtitleFontSize": 12, "color": ink, "subtitleColor": ink}
    return specification | {
        "datasets": specification["datasets"] | tables,
        # An empty title would leave room for itself.
        **({"title": {"text": title, "subtitle": [*subtitles]}} if title else {}),
        "description": description,
        "width": specification.get("width", width),
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


def in_file_size(picture: dict[str, Any]) -> dict[str, Any]:
    """Return a picture in the size of files: a chart whose texts need room has it in `usermeta`."""
    size = picture.get("usermeta", {}).get("picture", {})
    return picture | size | {"width": max(picture["width"], size.get("width", 0))}


def to_svg(picture: dict[str, Any]) -> str:
    """Return a picture as an SVG document; this needs neither browser nor network."""
    described = f"><desc>{html.escape(picture.get('description', ''))}</desc>"
    return vl_convert.vegalite_to_svg(picture).replace(">", described, 1)


def to_png(picture: Mapping[str, Any]) -> bytes:
    """Return a picture as a PNG file, with two pixels per unit."""
    # Remove U+FE0F, which requests coloured emoji: the renderer has no glyph for it, and then drops
    # text in other fonts. It draws emoji in colour anyway.
    text = json.dumps(picture, ensure_ascii=False).replace("\ufe0f", "")
    return vl_convert.vegalite_to_png(text, scale=_DOTS)


def to_html(picture: Mapping[str, Any]) -> str:
    """Return a picture as an interactive page that loads nothing, with a menu to export it."""
    # The other entries of Vega's menu show its source, or send it to a web site.
    menu = {"export": True, "source": False, "compiled": False, "editor": False}
    picture = {**picture, "usermeta": {"embedOptions": {"actions": menu}}}
    return vl_convert.vegalite_to_html(picture, bundle=True)


_WRITERS: Mapping[str, Callable[[dict[str, Any]], bytes]] = MappingProxyType(
    {
        ".png": to_png,
        ".svg": lambda picture: to_svg(picture).encode(),
        ".html": lambda picture: to_html(picture).encode(),
    }
)
