"""Runs that come with attnlab, shown by pages whose session has no run yet."""

import streamlit as st

from attnlab.lessons.examples import shipped_run
from attnlab.live.live_run import LiveRun
from attnlab.ui.core.jobs import readable_example

EXAMPLE_NOTE = ":gray-badge[:material/inventory_2: example] This run comes with attnlab."


def readable_example_run(name: str) -> LiveRun | None:
    """Return the run of that name; if its file is damaged, draw a warning instead."""
    return readable_example(lambda: example_run(name))


@st.cache_resource(show_spinner=False)
def example_run(name: str) -> LiveRun:
    """Return the run of that name; all sessions share it."""
    stored = shipped_run(name)
    example = LiveRun(stored.experiment)
    example.resume(stored)
    return example
