"""The session's one run, and what ties it to the person who watches."""

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.live.live_run import LiveRun
from attnlab.live.programs import Programs
from attnlab.training.experiment import Experiment
from attnlab.training.presets import FIRST_PRESET, PRESETS
from attnlab.ui.core.hosting import hosted, work_queue


def session_run() -> LiveRun:
    """The run of this browser session, made when first asked for."""
    if "live_run" not in st.session_state:
        first = PRESETS[FIRST_PRESET].experiment
        st.session_state["live_run"] = LiveRun(
            first, programs=shared_programs(), queue=work_queue()
        )
    run = st.session_state["live_run"]
    _watched(run)
    return run


@st.cache_resource(show_spinner=False)
def shared_programs() -> Programs:
    """The compiled programs of this server."""
    return Programs()


def get_ready_for(form: Experiment | OptionError, run: LiveRun) -> None:
    """Compile what the controls show while the person still looks at them.

    Not while a run trains, which would slow down, nor on a server that others share.
    """
    if isinstance(form, Experiment) and not run.snapshot().active and not hosted():
        shared_programs().want(form)


# A closed tab and a dropped connection look alike when they happen, and after a drop the session
# comes back with its state. So the run is paused, never thrown away; it goes with the session.
@st.cache_resource(scope="session", on_release=LiveRun.pause, show_spinner=False)
def _watched(_run: LiveRun) -> LiveRun:
    return _run
