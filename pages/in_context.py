"""In context: each sequence has its own rule, and the model must read it off the context."""

import streamlit as st

from attnlab.ui.controls.form_state import read_form
from attnlab.ui.core.session_library import session_run
from attnlab.ui.in_context.context_panel import draw_in_context
from attnlab.ui.library.actions import open_finished_run
from attnlab.ui.shell import ensure_shell
from attnlab.ui.train.bench import draw_bench, draw_bench_foot
from attnlab.ui.train.runs_panel import follow_run_file

ABOUT = (
    "Each sequence has its own rule, which the model can only **infer from the context**. "
    "Which algorithm does it learn, and which heads implement it?"
)

ensure_shell()
run = session_run()
follow_run_file(run)
if open_finished_run(run, read_form()):
    # Resuming sets controls, which must come before any is drawn.
    st.rerun()
draw_bench_foot(draw_bench("In context", about=ABOUT, draw_first=draw_in_context))
