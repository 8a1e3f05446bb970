"""Sequence to sequence: a model that reads a source and writes a target, beside the truth."""

import streamlit as st

from attnlab.ui.controls.form_state import read_form
from attnlab.ui.core.session_library import session_run
from attnlab.ui.library.actions import open_finished_run
from attnlab.ui.sequence_to_sequence.table_panel import draw_table
from attnlab.ui.sequence_to_sequence.task_panel import draw_task_choice, draw_task_figures
from attnlab.ui.shell import ensure_shell
from attnlab.ui.train.bench import Bench, draw_bench, draw_bench_foot
from attnlab.ui.train.runs_panel import follow_run_file

ABOUT = (
    "The model reads a source sequence and writes a target sequence. The true alignment "
    "(the source token of each target token) is known, so you can check the attention against it."
)


def draw_task(bench: Bench) -> None:
    """Draw the table, or a choice of tasks if the controls describe none."""
    if not draw_task_choice():
        draw_table(bench)


ensure_shell()
run = session_run()
follow_run_file(run)
if open_finished_run(run, read_form()):
    # Resuming sets controls, which must come before any is drawn.
    st.rerun()
bench = draw_bench("Sequence to sequence", about=ABOUT, draw_first=draw_task, example="cards")
draw_task_figures(bench)
draw_bench_foot(bench)
