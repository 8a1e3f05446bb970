"""Train: choose settings, train a model and watch what it learns."""

import streamlit as st

from attnlab.inspection.belief_probes import has_beliefs
from attnlab.ui.core.display import BELIEFS_PAGE
from attnlab.ui.in_context.context_panel import draw_in_context_panel
from attnlab.ui.shell import ensure_shell
from attnlab.ui.train.figures_panel import draw_sequences
from attnlab.ui.train.measures_panel import draw_measures
from attnlab.ui.train.training_page import draw_bench, draw_bench_foot

ensure_shell()
bench = draw_bench("Train")
if has_beliefs(bench.run.experiment.generator):
    st.page_link(BELIEFS_PAGE, label="Open in Beliefs", icon=":material/change_history:")
draw_measures(bench.run)
draw_in_context_panel(bench.run)
draw_sequences(bench.run)
draw_bench_foot(bench)
