"""A published question, reproduced and explained: does attention lose to a linear model?"""

import streamlit as st

from attnlab.ui.compare.published import draw_ladder_part, draw_table_part, draw_zoo_part
from attnlab.ui.core.fragments import draw_in_code
from attnlab.ui.shell import ensure_shell

ensure_shell()
st.title("A published question", anchor=False)
st.markdown(
    "A blog post of May 2023, “Understanding what self-attention is doing”, trains one attention "
    "layer and a linear model. Its five processes generate sequences of weather days. In all but "
    "one of its comparisons the linear model wins: attention seems to be of no use."
)
st.markdown(
    "The post could not know how much there was to learn. Here the processes are known exactly, "
    "and so are the **ceiling** (best possible accuracy) and the **floor** (lowest possible "
    "loss). On `markov` and `ndays` no predictor is more accurate than the best linear one, so "
    "attention cannot win. On `recall` and `dotmod` it can. What stops the published attention "
    "layer there is a handful of settings, which you can change one at a time."
)

st.header("The table, reproduced", anchor=False, divider="gray")
st.markdown(
    "The settings are those of the post's code, but with several seeds each and 10,000 test "
    "sequences instead of 1,000. A published accuracy is that of one run, with a standard error "
    "of about 0.015 from its test alone. So about one of eighteen numbers should be more than "
    "two standard errors off by chance. The table of `recall` is drawn by a seed, and the post's "
    "seed is not known. Its ceiling moves by a few hundredths from table to table."
)
draw_table_part()

st.header("One switch at a time", anchor=False, divider="gray")
st.markdown(
    "What stops the published layer? Its **mask** lets a day see itself and *later* days only, "
    "so only the first day sees the whole sequence. Its **loss** requires every day to predict "
    "the final one, even if it sees too few days. Every step takes all 5,000 sequences, for 500 "
    "steps. **Initial** weights are standard normal numbers. The **position** is one number, "
    "t/20, so days differ by little. And **nothing after attention** combines what it fetched: "
    "there is no residual connection and no MLP. Each row changes one of these and keeps the "
    "changes above it. A switch that gains nothing may be what a later one needs: a causal mask "
    "needs the prediction at the last day. Gains vary by seed; single steps are uncertain, the "
    "whole path is not."
)
draw_ladder_part()

st.header("The same processes, other models", anchor=False, divider="gray")
st.markdown(
    "Nine families with their usual settings, all trained in the same way. Each makes 1,500 "
    "steps of 128 fresh sequences, with a learning rate that falls from 0.01. The attention head "
    "here has a causal mask and learned positions. Where one day or a count of days is enough, "
    "nearly every family is as accurate as is possible. Where days must be combined, families "
    "differ."
)
draw_zoo_part()

draw_in_code(
    "from attnlab.comparisons.many import run_all\n"
    "from attnlab.comparisons.published import part_named, runs_of\n"
    "from attnlab.comparisons.verdicts import rows_of\n\n"
    'part = part_named("table", ["markov"])\n'
    "results = list(run_all(runs_of(part, seeds=2)))\n"
    "for row in rows_of(part, results):\n"
    "    print(row.process, row.model, row.row.accuracy, row.verdict)",
    lead="This script prints the results above. On the command line use `python -m attnlab "
    "reproduce --part ladder`; `--shipped` prints the results that come with the program:",
)
