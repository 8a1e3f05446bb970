"""Positional encodings: how attention learns about order."""

import streamlit as st

from attnlab.ui.core.fragments import draw_in_code
from attnlab.ui.lessons.encoding_limits_panel import draw_lengths, draw_scores, draw_waves
from attnlab.ui.lessons.encoding_panel import draw_encodings, draw_shifts, draw_views
from attnlab.ui.shell import ensure_shell

ensure_shell()
st.title("Positional encodings", anchor=False)
st.markdown(
    "Without a mask, attention sees a **set** of days: shuffled days give shuffled outputs. A "
    "positional encoding supplies their order. Most give each position a vector of features, in "
    "addition to the token's own. `rotary` and `alibi` change the scores of queries and keys "
    "instead. Compare two side by side."
)
one, other, length, width = draw_encodings()
draw_views(one, other)

st.header("A shift is a rotation", anchor=False, divider="gray")
st.latex(r"PE(t + k) = M(k)\, PE(t) \quad \text{with one matrix for all } t")
st.markdown(
    "For sinusoidal encodings of even d, each pair (sin, cos) turns by a fixed angle, whatever t "
    "is. So “k days ago” is one linear map that a head can learn. With odd d the last sine has "
    "no cosine, so it cannot turn. A scalar grows by adding, which no matrix can do. Learned "
    "rows are free: one matrix fits them only if d is at least the number of pairs k apart."
)
draw_shifts(one, other)

st.header("In the scores instead of the input", anchor=False, divider="gray")
st.markdown(
    "`rotary` turns queries and keys by an angle that grows with their position, so their "
    "product depends only on the distance. `alibi` subtracts a little from every score for each "
    "day of distance. Below, query and key are the same vector at two positions."
)
draw_scores(length, width)

st.header("Wavelengths and aliasing", anchor=False, divider="gray")
draw_waves(one, other)

st.header("Beyond the trained length", anchor=False, divider="gray")
draw_lengths(one, other, length)

draw_in_code(
    "from attnlab.lessons.geometry import closest_pair, encoding_rows, fit_shift, similarity\n"
    f"from attnlab.positions import {type(one.position).__name__}\n\n"
    f"rows = encoding_rows({one.position!r}, length={length}, width={width})\n"
    f"print(similarity(rows), fit_shift(rows, 3).error, closest_pair(rows))",
)
