"""A run that has nothing to show yet."""

import streamlit as st

from attnlab.live import LiveRun
from attnlab.ui.repeated import draw_repeatedly

_POLL_SECONDS = 0.3


def draw_preparing(run: LiveRun) -> None:
    """Say so, and draw the page again as soon as there is a model, or will be none."""
    draw_repeatedly(_draw_preparing, run, key="preparing", seconds=_POLL_SECONDS)


def _draw_preparing(run: LiveRun) -> None:
    snapshot = run.snapshot()
    if snapshot.latest is not None or not snapshot.active:
        st.rerun()
    st.caption(":material/hourglass_top: The run is being prepared …")
