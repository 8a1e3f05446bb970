"""A comparison taken away: its link, its table, and how a script makes it."""

from collections.abc import Sequence
from urllib.parse import urlencode, urlsplit

import streamlit as st

from attnlab.comparisons.grid import Grid
from attnlab.comparisons.planning.links import to_parameters
from attnlab.comparisons.records import to_csv
from attnlab.comparisons.summary import Row
from attnlab.runs.links import to_query


def draw_export(grid: Grid | None, rows: Sequence[Row]) -> None:
    """The link to what is chosen, and the figures of what has ended."""
    panel = st.expander(
        "Link and table", key="compare_export", on_change="rerun", icon=":material/link:"
    )
    if not panel.open:
        return
    with panel:
        if grid is None or grid.base is None:
            st.info("This choice cannot run, and has no link.", icon=":material/link_off:")
        else:
            st.markdown("This link opens the whole comparison: settings, what is varied, seeds.")
            st.code(_address(grid), language=None, wrap_lines=True)
        if rows:
            st.download_button(
                "Table, CSV",
                data=lambda: to_csv(rows),
                file_name="attnlab-comparison.csv",
                mime="text/csv",
                key="compare_csv",
                on_click="ignore",
                icon=":material/download:",
            )
        st.caption("The charts are below, under “Export charts”.")


def _address(grid: Grid) -> str:
    query = to_query(grid.base) | to_parameters(grid.options, grid.seeds)
    here = urlsplit(st.context.url or "")
    return here._replace(query=urlencode(query), fragment="").geturl()
