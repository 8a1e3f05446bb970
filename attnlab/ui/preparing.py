"""A run that has nothing to show yet."""

import streamlit as st

from attnlab.live import LiveRun

_POLL_SECONDS = 0.3


def draw_preparing(run: LiveRun) -> None:
    """Say so, and draw the page again as soon as there is a model, or will be none."""
    st.fragment(_draw_preparing, key="preparing", run_every=_POLL_SECONDS)(run)


def _draw_preparing(run: LiveRun) -> None:
    snapshot = run.snapshot()
    if snapshot.latest is not None or not snapshot.active:
        st.rerun()
    st.caption(":material/hourglass_top: The run is being prepared …")
