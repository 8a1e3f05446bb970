"""Train: pick, press Start, watch it learn, see what it attends to."""

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.runs.script import to_script
from attnlab.ui.controls.form import draw_form
from attnlab.ui.controls.link_bar import draw_link_panel, draw_notices
from attnlab.ui.core.in_code import draw_in_code
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.session_run import get_ready_for, session_run
from attnlab.ui.core.shell import ensure_shell
from attnlab.ui.train.files_panel import draw_files
from attnlab.ui.train.live_panel import draw_live
from attnlab.ui.train.runs_panel import draw_runs
from attnlab.ui.train.sequences_panel import draw_sequences
from attnlab.ui.train.step_clicks import draw_step_counter
from attnlab.ui.train.transport import draw_transport, obey

ensure_shell()
run = session_run()
problems: list[OptionError] = []
with st.sidebar:
    form = draw_form(problems)

obey(run, form)
get_ready_for(form, run)
snapshot = run.snapshot()
with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="bar"):
    st.title("Train", anchor=False, width="content")
    draw_transport(run, form, snapshot)
# Places that are always there: what comes and goes in one must not move the fragments behind it.
notices, live, problem = st.container(), st.container(), st.container()
with notices:
    draw_notices()
with live:
    draw_live(run, form, snapshot)
with problem:
    if isinstance(form, OptionError):
        draw_error(f"These settings cannot run. {'The controls say why.' if problems else form}")

draw_step_counter()
draw_sequences(run)
draw_runs(run)
draw_link_panel(form)
draw_files(run)
draw_in_code(
    to_script(run.experiment, snapshot.history.changes),
    lead="The run above, from a script that prints its test figures:",
)
