"""Charts on the page, each with a menu that saves it or shows a link to the page."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import streamlit as st

from attnlab.charts import Drawing, as_picture, to_png, to_svg
from attnlab.ui.core.display import draw_download, has_large_type, on_dark
from attnlab.ui.core.session import session

# Width in pixels of an exported chart.
_WIDTH = 640
_FORMATS = {"SVG": ("image/svg+xml", to_svg), "PNG": ("image/png", to_png)}


class DrawnChart(NamedTuple):
    """A chart of the page, and its text alternative."""

    drawing: Drawing
    alt: str


def draw_chart(
    drawing: Drawing,
    *,
    name: str,
    alt: str,
    key: str | None = None,
    fills: bool = False,
    on_select: str | Callable[..., None] = "ignore",
    selection_mode: str | None = None,
) -> Any:
    """Draw a chart as wide as its container, or in its own width if it has one.

    Args:
        drawing: The chart.
        name: The chart's name in its file; unique on a page.
        alt: The chart's text alternative.
        key: As in `st.vega_lite_chart`.
        fills: Whether the chart is as high as its container, which must have a height.
        on_select: As in `st.vega_lite_chart`.
        selection_mode: As in `st.vega_lite_chart`.

    Returns:
        The return value of `st.vega_lite_chart`: with `on_select`, the selections by name.
    """
    session().charts[name] = DrawnChart(drawing, alt)
    specification = drawing.specification(dark=on_dark(), large=has_large_type())
    # The overloads want `on_select` as a literal.
    draw: Any = st.vega_lite_chart
    with st.container(key=f"figure_{_slug(name)}", height="stretch" if fills else "content"):
        drawn = draw(
            spec=specification,
            width="content" if "width" in specification else "stretch",
            height="stretch" if fills else "content",
            alt=alt,
            key=key,
            on_select=on_select,
            selection_mode=selection_mode,
        )
        _draw_menu(name)
    return drawn


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower()).strip("-")


def _draw_menu(name: str) -> None:
    """Draw the icon in the chart's corner; its menu has files of the chart and the page's link."""
    slug = _slug(name)
    menu = st.popover(
        f"Save or share “{name}”",
        icon=":material/share:",
        type="tertiary",
        key=f"share_{slug}",
        on_change="rerun",
    )
    if not menu.open:
        return
    charts, dark = session().charts, on_dark()
    with menu:
        with st.container(horizontal=True, gap="small"):
            for kind, (mime, make) in _FORMATS.items():
                draw_download(
                    kind,
                    f"attnlab-{slug}.{kind.lower()}",
                    mime,
                    # With the chart's data when the button is pressed.
                    lambda make=make: make(chart_picture(name, charts[name], dark=dark)),
                    key=f"share_{slug}_{kind.lower()}",
                )
        st.caption(
            "The file has the chart as you see it, with a title. The SVG also has its description "
            "for screen readers."
        )
        st.markdown("This link opens the page with its settings.")
        st.code(_link(), language=None, wrap_lines=True)


def _link() -> str:
    """Return the address of the page, with the settings that a bare address leaves out."""
    query = urlencode(session().address | st.query_params.to_dict())
    return urlsplit(st.context.url or "")._replace(query=query, fragment="").geturl()


def chart_picture(name: str, chart: DrawnChart, *, dark: bool) -> dict[str, Any]:
    """Return a chart's specification for export, with its name as title and its description.

    A chart whose texts need room has its size in files as the `picture` of its `usermeta`.
    """
    picture = as_picture(chart.drawing, title=name, description=chart.alt, width=_WIDTH, dark=dark)
    size = picture.get("usermeta", {}).get("picture", {})
    return picture | size | {"width": max(picture["width"], size.get("width", 0))}
