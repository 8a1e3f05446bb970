"""Runs and results that come with attnlab, shown by pages until the session has some."""

from functools import partial

import streamlit as st

from attnlab.lessons.examples import Example, shipped_example, shipped_run
from attnlab.live.jobs import JobState
from attnlab.live.live_run import LiveRun
from attnlab.ui.core.jobs import readable_example

EXAMPLE_NOTE = ":gray-badge[:material/inventory_2: example] This run comes with attnlab."


def example_until_first(name: str, state: JobState) -> Example | None:
    """Return the example to show until a running job has a result, with a line that says so."""
    example = readable_example(partial(shipped_example, name)) if state.running else None
    if example is not None:
        st.caption(":material/inventory_2: **Example result**, until your first result arrives.")
    return example


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
