"""What came of a comparison, as it comes."""

import streamlit as st

from attnlab.comparisons.summary import Row
from attnlab.ui.compare.findings.curves_panel import draw_curves
from attnlab.ui.compare.findings.dots_panel import draw_dots
from attnlab.ui.compare.findings.table_panel import draw_table
from attnlab.ui.compare.findings.words import setting_labels
from attnlab.ui.compare.known import references_missing, rows_of
from attnlab.ui.compare.plan import Plan
from attnlab.ui.compare.work import ComparisonProgress
from attnlab.ui.compare.work_panel import WORK, begun_plan, draw_progress
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.session_work import session_work


def draw_results() -> tuple[Row, ...]:
    """What is seen of the comparison that was begun last while it goes on; its rows.

    No rows while more of them come by themselves.
    """
    plan, work = begun_plan(), session_work().of(WORK)
    if plan is None or work is None:
        return ()

    def waits_for() -> tuple[bool, int] | None:
        found = work.state().running, references_missing(plan)
        return found if any(found) else None

    before = waits_for()
    draw_while(waits_for, lambda: _draw(plan, draw_progress(work)), key="comparison", waited=before)
    latest: ComparisonProgress | None = work.state().latest
    return () if before is not None or latest is None else rows_of(plan, latest.results)


def _draw(plan: Plan, progress: ComparisonProgress) -> None:
    if not progress.results:
        st.caption("The first run is drawn its data and compiled; results appear as they come.")
        return
    rows = rows_of(plan, progress.results)
    labels = setting_labels(rows)
    draw_dots(rows, labels)
    draw_table(rows, labels, plan.grid.seeds)
    draw_curves(rows, labels)
