"""Charts on the page, and the page's list of them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import streamlit as st

from attnlab.charts import Drawing, with_large_type
from attnlab.ui.core.page_theme import has_large_type

# Of the expander that offers them.
PICTURES = "pictures"
_CHARTS = "charts_on_page"


class DrawnChart(NamedTuple):
    """A chart that stands on the page, what it shows in words, and the part that it is in."""

    drawing: Drawing
    alt: str
    part: str | None


# Of the thread that a script runs in: the part that is being drawn.
_PART = ContextVar[str | None]("part", default=None)


def draw_chart(
    drawing: Drawing,
    *,
    name: str,
    alt: str,
    key: str | None = None,
    on_select: str | Callable[..., None] = "ignore",
    selection_mode: str | None = None,
) -> Any:
    """The chart, as wide as its place; `alt` says in words what it shows.

    By its `name`, of which a page has one each, it can be exported at the foot of the page. With
    `on_select` it returns the selections, by their names.
    """
    charts_on_page()[name] = DrawnChart(drawing, alt, _PART.get())
    specification = drawing.specification()
    return st.vega_lite_chart(
        spec=with_large_type(specification) if has_large_type() else specification,
        width="stretch",
        alt=alt,
        key=key,
        on_select=on_select,
        selection_mode=selection_mode,
    )


def charts_on_page() -> dict[str, DrawnChart]:
    """The charts by their names, as they were last drawn, in their order on the page."""
    return st.session_state.setdefault(_CHARTS, {})


def forget_charts() -> None:
    """Begin a new page."""
    st.session_state[_CHARTS] = {}


@contextmanager
def part_of_page(name: str) -> Iterator[None]:
    """Charts within it are that part's. Those that it drew the time before and no more are gone."""
    before = {n: chart for n, chart in charts_on_page().items() if chart.part == name}
    token = _PART.set(name)
    try:
        yield
    finally:
        _PART.reset(token)
    charts = charts_on_page()
    for gone in [n for n, chart in before.items() if charts.get(n) is chart]:
        del charts[gone]
