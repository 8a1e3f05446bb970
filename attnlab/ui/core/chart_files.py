"""The foot of a page: each of its charts as a file."""

import re
import textwrap
from typing import Any

import streamlit as st

from attnlab.charts import as_picture, to_png, to_svg
from attnlab.ui.core.fragments import fragment
from attnlab.ui.core.page_charts import PICTURES, DrawnChart, charts_on_page
from attnlab.ui.core.page_theme import on_dark

_WIDTH, _LETTERS_A_LINE = 640, 92


def draw_pictures() -> None:
    """Downloads of the charts that the page has, if it has any."""
    if not charts_on_page():
        return
    panel = st.expander("Export charts", key=PICTURES, on_change="rerun", icon=":material/image:")
    if panel.open:
        with panel:
            fragment(_draw_choice, key="pictures_choice")()


def _draw_choice() -> None:
    charts, dark = charts_on_page(), on_dark()
    name = st.selectbox("chart", list(charts), key="picture")
    # The chart as it stands when the button is pressed, which a part of the page may have redrawn
    # or be about to take from the list.
    chosen = charts[name]
    with st.container(horizontal=True, gap="small"):
        for kind, mime, make in (("SVG", "image/svg+xml", to_svg), ("PNG", "image/png", to_png)):
            st.download_button(
                kind,
                data=lambda make=make: make(
                    chart_picture(name, charts.get(name, chosen), dark=dark)
                ),
                file_name=f"attnlab-{_slug(name)}.{kind.lower()}",
                mime=mime,
                key=f"picture_{kind.lower()}",
                on_click="ignore",
                icon=":material/download:",
            )
    st.caption(f"“{name}” as it is now, in the page's colours, with what it shows in words.")


def chart_picture(name: str, chart: DrawnChart, *, dark: bool) -> dict[str, Any]:
    """The chart by itself, under its name and its text alternative."""
    lines = textwrap.wrap(chart.alt, _LETTERS_A_LINE)
    return as_picture(chart.drawing, title=name, subtitles=lines, width=_WIDTH, dark=dark)


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower()).strip("-")
