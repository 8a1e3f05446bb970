"""A published question, reproduced and explained: does attention lose to a linear model?"""

import streamlit as st

from attnlab.ui.compare.published import draw_ladder, draw_models, draw_table
from attnlab.ui.core.fragments import draw_in_code, fragment
from attnlab.ui.core.glossary import link_to
from attnlab.ui.shell import ensure_shell

ensure_shell()
st.title("A published question", anchor=False)
st.markdown(
    "**Does attention lose to a linear model?** The blog post “Understanding what self-attention "
    "is doing” (May 2023) finds that it does on weather sequences. Here the best possible accuracy "
    f"({link_to('ceiling')}) is known, so you can see what both models miss, and why."
)

st.header("The table, reproduced", anchor=False, divider="gray")
st.markdown(
    "The linear model wins on every process but `markov`, where the difference is within the "
    "noise. On `recall` and `dotmod` both models stay far below the ceiling."
)
fragment(draw_table, key="published_table")()

st.header("One change at a time", anchor=False, divider="gray")
fragment(draw_ladder, key="published_ladder")()

st.header("The same processes, other models", anchor=False, divider="gray")
st.markdown(
    "`mlp`, `conv`, `rnn` and `transformer` learn at least 90 % of what is possible on `recall` "
    "and `dotmod`. There `linear` and a single `attention` head learn less than half."
)
fragment(draw_models, key="published_zoo")()

draw_in_code(
    "from attnlab.comparisons.many import run_all\n"
    "from attnlab.comparisons.published import part_named, runs_of\n"
    "from attnlab.comparisons.verdicts import rows_of\n\n"
    'part = part_named("table", ["markov"])\n'
    "results = list(run_all(runs_of(part, seeds=2)))\n"
    "for row in rows_of(part, results):\n"
    "    print(row.process, row.model, row.row.accuracy, row.verdict)",
    lead="This script trains two rows of the table again. On the command line use `python -m "
    "attnlab reproduce --part ladder` (or `table`, `zoo`); `--shipped` prints the results above:",
)
