"""Step by step: attention with numbers that you can follow by hand."""

import streamlit as st

from attnlab.ui.core.fragments import draw_in_code, fragment
from attnlab.ui.lessons.averages_panel import draw_averages
from attnlab.ui.lessons.head_panel import code_of, draw_bench, draw_sets
from attnlab.ui.lessons.stage_panel import draw_stages
from attnlab.ui.shell import ensure_shell

ensure_shell()
st.title("Step by step", anchor=False)
st.markdown(
    "Attention mixes rows of numbers, with weights that it computes itself. Start with the "
    "simplest mixture, the mean of the past. Then check every number of a small head by hand. "
    "The last part shows that attention without positional information sees a set, not a "
    "sequence."
)


@fragment
def draw_example():
    st.latex(
        r"\text{output} = \text{softmax}\big(\text{scale} \cdot QK^\top\big)\,V, \quad "
        r"Q = xW_Q,\; K = xW_K,\; V = xW_V"
    )
    bench = draw_bench()
    draw_stages(bench)
    st.caption(
        "Try this: change one number of an input and follow it through the stages. Take “all-ones "
        "weights” and look at the scores. Take the random head and switch scaling on."
    )
    st.header("Sets, not sequences", anchor=False, divider="gray")
    st.markdown("The same head, once with the inputs as above and once with shuffled inputs.")
    draw_sets(bench)
    draw_in_code(code_of(bench), lead="This script prints the stages above:")


st.header("Averaging the past, three ways", anchor=False, divider="gray")
st.markdown(
    "The mean of all inputs so far, for every input, in three ways: a **loop** over t, a product "
    "with a **lower-triangular matrix**, and a **masked softmax of zeros**. The third is "
    "attention before it has learned anything."
)
fragment(draw_averages)()

st.header("A worked example", anchor=False, divider="gray")
draw_example()
