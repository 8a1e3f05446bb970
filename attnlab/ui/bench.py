"""The session's one run, and what ties it to the person who watches."""

import streamlit as st

from attnlab.experiment import Experiment
from attnlab.live import LiveRun
from attnlab.ui.hosting import training_queue


def session_run() -> LiveRun:
    """The run of this browser session, made when first asked for."""
    if "live_run" not in st.session_state:
        st.session_state["live_run"] = LiveRun(Experiment(), training_queue())
    run = st.session_state["live_run"]
    _watched(run)
    return run


# A closed tab and a dropped connection look alike when they happen, and after a drop the session
# comes back with its state. So the run is paused, never thrown away; it goes with the session.
@st.cache_resource(scope="session", on_release=LiveRun.pause, show_spinner=False)
def _watched(_run: LiveRun) -> LiveRun:
    return _run
