"""Beliefs: the distribution over hidden states, exact and as a probe finds it in the model."""

import streamlit as st

from attnlab.inspection.belief_probes import has_beliefs
from attnlab.ui.beliefs.belief_panel import draw_beliefs
from attnlab.ui.beliefs.lesson_panel import draw_lesson
from attnlab.ui.controls.form_state import read_form
from attnlab.ui.core.glossary import link_to
from attnlab.ui.core.session_library import session_run
from attnlab.ui.library.actions import open_finished_run
from attnlab.ui.shell import ensure_shell
from attnlab.ui.train.bench import draw_bench, draw_bench_foot
from attnlab.ui.train.runs_panel import follow_run_file

ABOUT = (
    f"The process has {link_to('hidden state', 'hidden states')}. The {link_to('belief')} is the "
    "distribution over them, given the tokens so far. Does a model that only learns to predict "
    "tokens represent it?"
)

ensure_shell()
run = session_run()
follow_run_file(run)
if open_finished_run(run, read_form()):
    # Resuming sets controls, which must come before any is drawn.
    st.rerun()
bench = draw_bench("Beliefs", about=ABOUT, draw_first=draw_beliefs)
if has_beliefs(bench.run.experiment.generator):
    draw_lesson(bench.run.experiment.generator)
draw_bench_foot(bench)
