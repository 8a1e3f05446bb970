"""Train: choose settings, train a model and watch what it learns."""

import streamlit as st

from attnlab.inspection.belief_probes import has_beliefs
from attnlab.ui.controls.form_state import read_form
from attnlab.ui.core.display import BELIEFS_PAGE
from attnlab.ui.core.session_library import session_run
from attnlab.ui.in_context.context_panel import draw_in_context_panel
from attnlab.ui.library.actions import open_finished_run
from attnlab.ui.shell import ensure_shell
from attnlab.ui.train.bench import draw_bench, draw_bench_foot
from attnlab.ui.train.figures_panel import draw_sequences
from attnlab.ui.train.measures_panel import draw_measures
from attnlab.ui.train.runs_panel import follow_run_file

ensure_shell()
run = session_run()
follow_run_file(run)
if open_finished_run(run, read_form()):
    # Resuming sets controls, which must come before any is drawn.
    st.rerun()
bench = draw_bench("Train")
if has_beliefs(bench.run.experiment.generator):
    st.page_link(BELIEFS_PAGE, label="Open in Beliefs", icon=":material/change_history:")
draw_measures(bench.run)
draw_in_context_panel(bench.run)
draw_sequences(bench.run)
draw_bench_foot(bench)
