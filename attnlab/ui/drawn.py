"""Charts on the page, and the page's list of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import streamlit as st

from attnlab.charts import Drawing

_CHARTS = "charts_on_page"


class DrawnChart(NamedTuple):
    """A chart that stands on the page, and what it shows, in words."""

    drawing: Drawing
    alt: str


def draw_chart(
    drawing: Drawing,
    *,
    name: str | None,
    alt: str,
    key: str | None = None,
    on_select: str | Callable[..., None] = "ignore",
    selection_mode: str | None = None,
) -> Any:
    """The chart, as wide as its place; `alt` says in words what it shows.

    By its `name`, of which a page has one each, it can be taken away; None for one that the files
    of the run hold. With `on_select` it returns the selections, by their names.
    """
    if name is not None:
        charts_on_page()[name] = DrawnChart(drawing, alt)
    return st.vega_lite_chart(
        spec=drawing.specification(),
        width="stretch",
        alt=alt,
        key=key,
        on_select=on_select,
        selection_mode=selection_mode,
    )


def charts_on_page() -> dict[str, DrawnChart]:
    """The charts that have a name, as they were last drawn, in their order on the page."""
    return st.session_state.setdefault(_CHARTS, {})


def forget_charts() -> None:
    """Begin a new page."""
    st.session_state[_CHARTS] = {}
