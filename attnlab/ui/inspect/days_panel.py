"""Inspect: the sequence that the model is shown, as days that can be changed."""

import numpy as np
import streamlit as st

from attnlab.generators.vocabulary import Vocabulary
from attnlab.training.experiment import Experiment
from attnlab.ui.core.outside import as_text

_DAYS = "edited_days"


def edited_days(experiment: Experiment, probes: np.ndarray) -> np.ndarray:
    """The tokens of the sequence; those of the first probe until somebody changes them."""
    size, length = experiment.generator.vocabulary.size, experiment.length
    tokens = st.session_state.get(_DAYS)
    if tokens is None or len(tokens) != length or max(tokens) >= size:
        st.session_state[_DAYS] = tokens = tuple(int(token) for token in probes[0])
    return np.array(tokens)


def draw_sequence_choice(vocabulary: Vocabulary, probes: np.ndarray) -> None:
    """A menu of sequences to begin with."""
    st.selectbox(
        "begin with sequence",
        range(len(probes)),
        key="edited_from",
        format_func=lambda i: f"{i + 1}: {vocabulary.render(probes[i])}",
        width=300,
        on_change=_take,
        args=(probes,),
    )


def draw_days(vocabulary: Vocabulary, tokens: np.ndarray) -> None:
    """Buttons, one a day; a click puts the next token of the vocabulary there."""
    st.caption(
        "**The sequence.** Click a day to change its token to the next of "
        f"{as_text(' '.join(vocabulary.symbols))}; the oldest day is at the left."
    )
    with st.container(horizontal=True, gap="xxsmall", key="day_editor"):
        for day, token in enumerate(tokens):
            st.button(
                f"{as_text(vocabulary.symbols[token])} {day + 1}",
                key=f"edit_day_{day + 1}",
                on_click=_turn,
                # Not the next one of what is there: a click may come twice.
                args=(day, (int(token) + 1) % vocabulary.size),
            )


def _turn(day: int, token: int) -> None:
    tokens = list(st.session_state[_DAYS])
    tokens[day] = token
    st.session_state[_DAYS] = tuple(tokens)


def _take(probes: np.ndarray) -> None:
    row = probes[st.session_state["edited_from"]]
    st.session_state[_DAYS] = tuple(int(token) for token in row)
