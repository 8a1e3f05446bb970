"""The results of a comparison while its runs finish, and the export of link and table."""

from collections.abc import Sequence
from urllib.parse import urlencode, urlsplit

import streamlit as st

from attnlab.comparisons.grid import Grid, to_parameters
from attnlab.comparisons.records import to_csv
from attnlab.comparisons.summary import Row
from attnlab.configuration.options import present
from attnlab.runs.differences import identity_of
from attnlab.runs.links import to_query
from attnlab.ui.compare.choice import setting_labels
from attnlab.ui.compare.curves import draw_curves, draw_dots
from attnlab.ui.compare.table import draw_table
from attnlab.ui.compare.work import (
    WORK,
    ComparisonProgress,
    Plan,
    begun_plan,
    draw_progress,
    rows_of,
)
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.jobs import job_of


def draw_results() -> tuple[Row, ...]:
    """Draw progress and results of the last comparison; return its rows, or () while it runs."""
    plan, work = begun_plan(), job_of(WORK)
    if plan is None or work is None:
        return ()

    def draw() -> None:
        total = len({identity_of(each) for each in plan.experiments})
        _draw(plan, draw_progress(work, total=total, key="compare_status"))

    before = work.state()
    draw_while(lambda: work.state().running, draw, key="comparison", waited=before.running)
    latest: ComparisonProgress | None = before.latest
    return () if before.running or latest is None else rows_of(plan, latest.results)


def _draw(plan: Plan, progress: ComparisonProgress) -> None:
    if not progress.results:
        st.caption("Generating data and compiling; results appear as they arrive.")
        return
    rows = rows_of(plan, progress.results)
    labels = setting_labels(rows)
    draw_dots(rows, labels)
    draw_table(rows, labels, plan.grid.seeds)
    draw_curves(rows, labels)


def draw_export(grid: Grid | None, rows: Sequence[Row]) -> None:
    """Draw the link to the comparison of the controls, and a download of the finished runs."""
    panel = st.expander(
        "Link and table", key="compare_export", on_change="rerun", icon=":material/link:"
    )
    if not panel.open:
        return
    with panel:
        if grid is None or grid.base is None:
            st.info("This choice cannot run, so it has no link.", icon=":material/link_off:")
        else:
            st.markdown("This link opens the whole comparison: settings, varied options and seeds.")
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
    query = to_query(present(grid.base)) | to_parameters(grid.options, grid.seeds)
    here = urlsplit(st.context.url or "")
    return here._replace(query=urlencode(query), fragment="").geturl()
