"""A published question: does attention lose to a linear model? Made again, and explained."""

import streamlit as st

from attnlab.ui.compare.published import draw_ladder_part, draw_table_part, draw_zoo_part
from attnlab.ui.core.fragments import draw_in_code
from attnlab.ui.core.shell import ensure_shell

ensure_shell()
st.title("A published question", anchor=False)
st.markdown(
    "A blog post of May 2023, “Understanding what self-attention is doing”, trains one attention "
    "layer and a linear model on five processes that make days of weather. In all of its rows "
    "that have both, but one, the linear model is the more accurate: attention seems to be of no "
    "use."
)
st.markdown(
    "The post could not know how much there was to learn. Here the processes are known exactly, "
    "and with them the **ceiling**, the best possible accuracy, and the **floor**, the least "
    "possible loss. They turn the question around. On `markov` and `ndays` no predictor is more "
    "accurate than the best linear one, so attention cannot win there. On `recall` and `dotmod` "
    "it can, and what keeps the attention layer from it can be switched off, one thing at a time."
)

st.header("The table, made again", anchor=False, divider="gray")
st.markdown(
    "The same settings as in the post's code, each with several seeds, and tested on 10,000 "
    "sequences in the place of 1,000. A published accuracy is that of one run, with a standard "
    "error of about 0.015 from its test alone, so that of eighteen figures about one will lie more "
    "than two standard errors off by chance. The table of `recall` is drawn by a seed, and that of "
    "the post is not known: its ceiling moves by a few hundredths from table to table."
)
draw_table_part()

st.header("One switch at a time", anchor=False, divider="gray")
st.markdown(
    "What stops the published layer. Its **mask** lets a day see itself and *later* days only, so "
    "that just the first day sees the whole sequence. Its **loss** asks every day for the final "
    "one, also those that cannot know it. Every step takes the whole of 5,000 sequences, for 500 "
    "steps. Weights **begin** as large as standard normal numbers. The **position** is one number, "
    "t/20, so that days differ by little. And there is **nothing after attention** that could "
    "combine what it fetched: no residual connection, no MLP. From row to row one of these is "
    "changed and the rest kept. A switch that gains nothing by itself may be what a later one "
    "needs: a causal mask asks for the prediction to be read at the last day. And some gain with "
    "one seed what they do not with another: few of the steps stand out by themselves, while all "
    "of them together do."
)
draw_ladder_part()

st.header("The same processes, other models", anchor=False, divider="gray")
st.markdown(
    "Nine families with their usual settings, all trained in the same way: 1,500 steps of 128 "
    "fresh sequences, with a learning rate that falls from 0.01. The attention head here has a "
    "causal mask and learned positions. Where one day or a count of days is enough, nearly every "
    "family is as accurate as is possible. Where days must be combined, families differ."
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
    lead="The figures above, from a script; `python -m attnlab reproduce --part ladder` does it on "
    "the command line, and `--shipped` prints those that come with the program:",
)
