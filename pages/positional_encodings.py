"""Positional encodings: how order gets in."""

import streamlit as st

from attnlab.positions import Alibi, Rotary
from attnlab.ui.encoding_controls import (
    MOST_FEATURES,
    MOST_POSITIONS,
    draw_encoding,
    draw_presets,
    steps,
)
from attnlab.ui.encoding_panel import (
    READING,
    VIEWS,
    draw_beyond,
    draw_score_profile,
    draw_shift,
    draw_view,
    draw_waves,
)
from attnlab.ui.linked import linked
from attnlab.ui.shell import ensure_shell

ensure_shell()
st.title("Positional encodings", anchor=False)
st.markdown(
    "Attention sees a **set** of days: without a word on order, shuffled days give shuffled "
    "outputs. A positional encoding is that word. Most give each position a vector of features "
    "beside the token's own; `rotary` and `alibi` change how queries meet keys instead. Put two "
    "side by side."
)
draw_presets()
left, right = st.columns(2, gap="medium")
length = linked(left.slider, "length (positions)", 2, MOST_POSITIONS, 40, key="pe_length")
width = linked(right.slider, "d (components)", 1, MOST_FEATURES, 8, key="pe_width")
with left:
    one = draw_encoding("a", "sinusoidal", length=length, width=width)
with right:
    other = draw_encoding("b", "learned", length=length, width=width)


# Each section is drawn again by itself when its own control moves.
@st.fragment
def draw_pictures():
    view = linked(
        st.segmented_control, "look at", VIEWS, required=True, default="curves", key="pe_view"
    )
    first, second = 1, 2
    if view == "path":
        with st.container(horizontal=True):
            first = linked(st.number_input, "component across", 1, MOST_FEATURES, 1, key="pe_x")
            second = linked(st.number_input, "component upwards", 1, MOST_FEATURES, 2, key="pe_y")
    for column, shown in zip(st.columns(2, gap="medium"), (one, other), strict=True):
        with column:
            draw_view(shown, view, first, second)
    st.caption(f"How to read it: {READING[view]} Positions count from 1, as days do.")
    st.caption(
        "Try this: look at the similarity of `sinusoidal`, then of `learned`, whose starting "
        "values are random. Train with learned positions and choose “learned in the run”."
    )


@st.fragment
def draw_shifts():
    shift = linked(st.slider, "k (positions)", 1, 32, 3, key="pe_shift")
    for column, shown in zip(st.columns(2, gap="medium"), (one, other), strict=True):
        with column:
            draw_shift(shown, shift)
    st.caption(
        "How to read it: row by row, what the components at t + k are made of. Blocks of two along "
        "the diagonal are rotations; slow pairs at the lower right hardly turn. A scalar would "
        "need “+ k”, which is no matrix."
    )


@st.fragment
def draw_scores():
    left, right = st.columns(2, gap="medium")
    with left:
        base = linked(st.select_slider, "rotary base", steps(2, 1_000_000), 10_000, key="pe_rotary")
        draw_score_profile(Rotary(base=base), length=length, width=width)
    with right:
        slope = linked(st.select_slider, "alibi slope", steps(0.001, 10), 0.5, key="pe_alibi")
        draw_score_profile(Alibi(slope=slope), length=length, width=width)
    st.caption(
        "How to read it: the score against the distance; without an encoding it is 1 throughout. "
        "Rotary's falls and comes back as its pairs run out of step; with d = 1 no pair is there "
        "to turn. The band from least to most is too thin to see: the distance alone decides."
    )


@st.fragment
def draw_lengths():
    trained = linked(st.slider, "trained on (positions)", 1, MOST_POSITIONS, 20, key="pe_trained")
    draw_beyond((one, other), min(trained, length))
    st.caption(
        "How to read it: 0 for positions met in training; then the distance to the nearest one. "
        "A scalar walks away for ever. Sinusoids stay in bounds, but slow ones reach angles never "
        "seen. A learned encoding has no vector there: its line ends, and such a model refuses "
        "longer sequences. Alibi has no rows; its penalty goes on growing evenly."
    )


draw_pictures()

st.header("A shift is a rotation", anchor=False, divider="gray")
st.latex(r"PE(t + k) = M(k)\, PE(t) \quad \text{with one matrix for all } t")
st.markdown(
    "For sinusoidal encodings each pair (sin, cos) turns by a fixed angle, whatever t is, so that "
    "“k days ago” is one linear map that a head can learn. A scalar grows and a learned encoding "
    "is free: no one matrix does it for them, and the best one errs."
)
draw_shifts()

st.header("In the scores instead of the input", anchor=False, divider="gray")
st.markdown(
    "`rotary` turns queries and keys by an angle that grows with their position, so that their "
    "product depends on the distance alone; `alibi` takes a little off every score for each day of "
    "distance. Below one vector meets itself, as query at one place and as key at another."
)
draw_scores()

st.header("Wavelengths, and positions too alike", anchor=False, divider="gray")
for column, shown in zip(st.columns(2, gap="medium"), (one, other), strict=True):
    with column:
        draw_waves(shown)
st.caption(
    "How to read it: after one wavelength a component takes the same values again. Positions are "
    "too alike where all components come round together, or where all are too slow to tell."
)

st.header("Beyond the trained length", anchor=False, divider="gray")
draw_lengths()

with st.expander("In code", icon=":material/code:"):
    st.code(
        "from attnlab.geometry import closest_pair, encoding_rows, fit_shift, similarity\n"
        f"from attnlab.positions import {type(one.position).__name__}\n\n"
        f"rows = encoding_rows({one.position!r}, length={length}, width={width})\n"
        f"print(similarity(rows), fit_shift(rows, 3).error, closest_pair(rows))",
        language="python",
    )
