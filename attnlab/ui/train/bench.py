"""What the pages that train have in common: controls, transport, and the part that moves."""

from typing import NamedTuple

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.live.live_run import LiveRun
from attnlab.runs.script import to_script
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import Experiment
from attnlab.ui.controls.form import draw_form, draw_form_problem
from attnlab.ui.controls.link_bar import draw_notices
from attnlab.ui.controls.link_panel import draw_link_panel
from attnlab.ui.core.in_code import draw_in_code
from attnlab.ui.core.session_run import get_ready_for, session_run
from attnlab.ui.library.place import draw_library_problem
from attnlab.ui.train.files_panel import draw_files
from attnlab.ui.train.live_panel import draw_live
from attnlab.ui.train.runs_panel import draw_runs
from attnlab.ui.train.transport import draw_transport, obey


class Bench(NamedTuple):
    """The session's run, what the controls describe, and the run as the page is drawn by."""

    run: LiveRun
    form: Experiment | OptionError
    snapshot: Snapshot


def draw_bench(title: str, *, about: str = "") -> Bench:
    """Controls, buttons and everything that changes while the run trains.

    A page that says what it is `about` has its title above the buttons, else it stands beside them.
    """
    run = session_run()
    with st.sidebar:
        form = draw_form()

    obey(run, form)
    get_ready_for(form, run)
    snapshot = run.snapshot()
    if about:
        with st.container(gap="small", key="heading"):
            st.title(title, anchor=False)
            st.caption(about)
    key = "buttons" if about else "bar"
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key=key):
        if not about:
            st.title(title, anchor=False, width="content")
        draw_transport(run, form, snapshot)
    # Places that are always there: what comes and goes in one must not move the fragments behind
    # it.
    notices, live = st.container(), st.container()
    with notices:
        if isinstance(form, OptionError):
            draw_form_problem(form)
        draw_notices()
        draw_library_problem()
    with live:
        draw_live(run, form, snapshot)
    return Bench(run, form, snapshot)


def draw_bench_foot(bench: Bench) -> None:
    """Past runs, the link, the files and the script."""
    draw_runs(bench.run)
    draw_link_panel(bench.form)
    draw_files(bench.run)
    draw_in_code(
        to_script(bench.run.experiment, bench.snapshot.history.changes),
        lead="The run above, from a script that prints its test figures:",
    )
