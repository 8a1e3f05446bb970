"""The Inspect page of a run that has nothing to show yet."""

import streamlit as st

from attnlab.live.live_run import LiveRun
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.shell import TRAIN_PAGE
from attnlab.ui.train.files_panel import draw_files


def draw_untrained(run: LiveRun, snapshot: Snapshot) -> None:
    """Wait for the first model of a run, or say how to come by one."""
    if snapshot.preparing:
        draw_while(
            lambda: run.snapshot().preparing,
            lambda: st.caption(":material/hourglass_top: The run is being prepared …"),
            key="preparing",
            waited=True,
        )
        return
    st.info(
        "There is no trained model yet. Train one, or load a saved run below.",
        icon=":material/search:",
    )
    st.page_link(TRAIN_PAGE, label="Go to the Train page", icon=":material/arrow_forward:")
    draw_files(run)
