"""Which explanation is right? Methods that rank positions, beside what predictions depend on."""

import streamlit as st

from attnlab.ui.core.fragments import draw_in_code, fragment
from attnlab.ui.lessons.explanation_panel import draw_league, draw_rankings
from attnlab.ui.shell import ensure_shell

ensure_shell()
fragment(draw_rankings, key="explanation_rankings")()

st.header("The league table", anchor=False, divider="gray")
fragment(draw_league, key="explanation_league")()

draw_in_code(
    "from attnlab import Experiment, prepare, run_all\n"
    "from attnlab.inspection import estimates_of\n"
    "from attnlab.lessons.explanations import league_table, ranked\n\n"
    "print(league_table('auc', family='transformer'))\n\n"
    "(result,) = run_all([Experiment()])\n"
    "setup = prepare(result.experiment)\n"
    "names = ['explains_attention', 'explains_attention:process.auc', 'explains_gradient']\n"
    "print(estimates_of(result.run.state.model, setup, names))\n"
    "found = ranked(result.run.state.model, setup)\n"
    "print(found.truths.model.size[0], found.scores['attention'][0])",
    lead="This script prints the league table, and explains a run of your own:",
)
