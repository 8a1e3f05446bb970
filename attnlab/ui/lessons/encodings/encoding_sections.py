"""The parts of the page on positional encodings: each is drawn anew when its own control moves."""

import streamlit as st

from attnlab.positions import Alibi, Rotary
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.fragments import fragment
from attnlab.ui.lessons.encodings.aliasing_panel import draw_beyond
from attnlab.ui.lessons.encodings.encoding_controls import (
    MOST_FEATURES,
    MOST_POSITIONS,
    ShownEncoding,
    steps,
)
from attnlab.ui.lessons.encodings.encoding_panel import (
    READING,
    VIEWS,
    draw_score_profile,
    draw_shift,
    draw_view,
)


@fragment
def draw_pictures(one: ShownEncoding, other: ShownEncoding) -> None:
    """Both encodings, looked at in the same way."""
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


@fragment
def draw_shifts(one: ShownEncoding, other: ShownEncoding) -> None:
    """The matrix that shifts either of them."""
    shift = linked(st.slider, "k (positions)", 1, 32, 3, key="pe_shift")
    for column, shown in zip(st.columns(2, gap="medium"), (one, other), strict=True):
        with column:
            draw_shift(shown, shift)
    st.caption(
        "How to read it: row by row, what the components at t + k are made of. Blocks of two along "
        "the diagonal are rotations; slow pairs at the lower right hardly turn. A scalar would "
        "need “+ k”, which is no matrix."
    )


@fragment
def draw_scores(length: int, width: int) -> None:
    """The two encodings that work in the scores."""
    left, right = st.columns(2, gap="medium")
    with left:
        base = linked(
            st.select_slider, "rotary base", steps(2, 1_000_000, 10_000), 10_000, key="pe_rotary"
        )
        draw_score_profile(Rotary(base=base), length=length, width=width)
    with right:
        slope = linked(st.select_slider, "alibi slope", steps(0.001, 10, 0.5), 0.5, key="pe_alibi")
        draw_score_profile(Alibi(slope=slope), length=length, width=width)
    st.caption(
        "How to read it: the score against the distance; without an encoding it is 1 "
        "throughout. That of rotary falls and recovers as its pairs go out of phase; with d = "
        "1 there is no pair to rotate. The band from least to most is too thin to see: the "
        "distance alone decides."
    )


@fragment
def draw_lengths(one: ShownEncoding, other: ShownEncoding, length: int) -> None:
    """How far positions beyond those of training lie from them."""
    trained = linked(st.slider, "trained on (positions)", 1, MOST_POSITIONS, 20, key="pe_trained")
    draw_beyond((one, other), min(trained, length))
    st.caption(
        "How to read it: 0 for positions met in training; then the distance to the nearest "
        "one. A scalar grows without bound. Sinusoids stay in bounds, but slow ones reach "
        "angles not seen in training. A learned encoding has no vector there: its line ends, "
        "and such a model rejects longer sequences. Alibi has no rows; its penalty keeps "
        "growing linearly."
    )
