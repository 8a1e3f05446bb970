"""Positional encodings: how attention learns about order."""

import streamlit as st

from attnlab.ui.core.fragments import draw_in_code
from attnlab.ui.lessons.encoding_panel import (
    draw_encodings,
    draw_lengths,
    draw_scores,
    draw_shifts,
    draw_views,
    draw_waves,
)
from attnlab.ui.lessons.kit import beside
from attnlab.ui.shell import ensure_shell

ensure_shell()
text, picture = beside(
    "How does attention know what came first? Without a mask it sees a **set**: shuffled inputs "
    "give shuffled outputs. A positional encoding adds the order, usually as a vector for each "
    "position.",
    title="Positional encodings",
)
with text:
    one, other, length, width = draw_encodings()
with picture:
    draw_views(one, other)

st.header("A shift is a rotation", anchor=False, divider="gray")
text, picture = beside(
    "$PE(t + k) = M(k)\\, PE(t)$ with one matrix for all t.\n\n"
    "From t to t + k, each pair (sin, cos) of a sinusoidal encoding turns by an angle that "
    "depends on k but not on t. So “k positions ago” is one linear map, which a head can learn."
)
with picture:
    draw_shifts(one, other)

st.header("Positions in the scores: rotary and ALiBi", anchor=False, divider="gray")
text, picture = beside(
    "`rotary` turns each pair of components of queries and keys in proportion to the position. "
    "So positions enter the dot product only through their difference. `alibi` lowers the score "
    "in proportion to the distance. Here query and key are the same vector at two positions."
)
with picture:
    draw_scores(length, width)

st.header("Wavelengths and aliasing", anchor=False, divider="gray")
draw_waves(one, other)

st.header("Beyond the trained length", anchor=False, divider="gray")
text, picture = beside(
    "The line is the distance from a position's vector to the nearest trained vector. It is 0 up "
    "to the trained length.\n\n"
    "A scalar grows without bound. Sinusoids stay in bounds, but slow ones reach angles that are "
    "not seen in training. A model with learned positions rejects longer sequences."
)
with picture:
    draw_lengths(one, other, length)

draw_in_code(
    "from attnlab.lessons.geometry import closest_pair, encoding_rows, fit_shift, similarity\n"
    f"from attnlab.positions import {type(one.position).__name__}\n\n"
    f"rows = encoding_rows({one.position!r}, length={length}, width={width})\n"
    f"print(similarity(rows), fit_shift(rows, 3).error, closest_pair(rows))"
)
