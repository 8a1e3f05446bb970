"""Charts on the page, and their export at the foot of the page."""

import re
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

import streamlit as st

from attnlab.charts import Drawing, as_picture, to_png, to_svg
from attnlab.ui.core.display import draw_download, has_large_type, on_dark
from attnlab.ui.core.fragments import fragment, panel
from attnlab.ui.core.session import session

# Width in pixels of an exported chart, and characters per line of its text alternative.
_WIDTH, _LETTERS_A_LINE = 640, 92


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
        name: The chart's name in the export list; unique on a page.
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
    return draw(
        spec=specification,
        width="content" if "width" in specification else "stretch",
        height="stretch" if fills else "content",
        alt=alt,
        key=key,
        on_select=on_select,
        selection_mode=selection_mode,
    )


def draw_export() -> None:
    """Draw the panel that exports the page's charts, if the page has charts."""
    if session().charts:
        panel("Export charts", key="pictures", icon="image")(fragment(_draw_choice))()


def _draw_choice() -> None:
    charts, dark = session().charts, on_dark()
    name = st.selectbox("chart", list(charts), key="picture")
    slug = re.sub(r"\W+", "-", name.lower()).strip("-")
    with st.container(horizontal=True, gap="small"):
        for kind, mime, make in (("SVG", "image/svg+xml", to_svg), ("PNG", "image/png", to_png)):
            draw_download(
                kind,
                f"attnlab-{slug}.{kind.lower()}",
                mime,
                # With the chart's data when the button is pressed.
                lambda make=make: make(chart_picture(name, charts[name], dark=dark)),
                key=f"picture_{kind.lower()}",
            )
    st.caption(f"The file shows “{name}” as you see it, below its title and a description.")


def chart_picture(name: str, chart: DrawnChart, *, dark: bool) -> dict[str, Any]:
    """Return a chart's specification for export, with its name and text alternative printed."""
    lines = textwrap.wrap(chart.alt, _LETTERS_A_LINE)
    return as_picture(chart.drawing, title=name, subtitles=lines, width=_WIDTH, dark=dark)
