"""Step by step: attention with numbers that you can follow by hand."""

import streamlit as st

from attnlab.ui.core.fragments import draw_in_code, fragment
from attnlab.ui.lessons.averages_panel import draw_averages
from attnlab.ui.lessons.head_panel import code_of, draw_bench, draw_sets, draw_stages
from attnlab.ui.lessons.kit import beside
from attnlab.ui.shell import ensure_shell

ensure_shell()


@fragment
def draw_example():
    text, picture = beside(
        "How does attention decide what to look at? Each input gets a query, a key and a value. "
        "Its output is a mean of the values, weighted by how well its query matches each key.",
        title="Step by step",
    )
    picture.latex(
        r"\text{output} = \text{softmax}\big(\text{scale} \cdot QK^\top\big)\,V, \quad "
        r"Q = xW_Q,\; K = xW_K,\; V = xW_V"
    )
    controls = text.container()
    st.header("Change the numbers", anchor=False, divider="gray")
    bench = draw_bench(text)
    draw_stages(bench, controls, picture)
    st.caption(
        "Try this: change one number of an input and follow it through the stages. Choose "
        "“all-ones weights” and look at the scores. Choose the random head and switch scaling on."
    )
    st.header("Sets, not sequences", anchor=False, divider="gray")
    st.markdown(
        "Attention without positions or a mask sees a set. Here the same head reads the inputs "
        "above in another order."
    )
    draw_sets(bench)
    draw_in_code(code_of(bench), lead="This script prints the stages above:")


draw_example()

st.header("Averaging the past, three ways", anchor=False, divider="gray")
st.markdown(
    "If all scores are zero, causal attention takes the plain mean of all inputs so far. A "
    "**loop**, a **lower-triangular matrix** and a **masked softmax of zeros** all give this mean."
)
fragment(draw_averages)()
