"""Charts on the page."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from attnlab.charts import Drawing


def draw_chart(
    drawing: Drawing,
    *,
    alt: str,
    key: str | None = None,
    on_select: str | Callable[..., None] = "ignore",
    selection_mode: str | None = None,
) -> Any:
    """The chart, as wide as its place; `alt` says in words what it shows.

    With `on_select` it returns the selections, by their names.
    """
    return st.vega_lite_chart(
        spec=drawing.specification(),
        width="stretch",
        alt=alt,
        key=key,
        on_select=on_select,
        selection_mode=selection_mode,
    )
