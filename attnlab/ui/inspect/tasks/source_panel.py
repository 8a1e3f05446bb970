"""Inspect: the source that the model is shown, typed or one of the watched ones."""

import jax.numpy as jnp
import numpy as np
import streamlit as st

from attnlab.configuration.options import MOST_CHARACTERS, OptionError
from attnlab.generators import AbstractTask, read_source, write_source
from attnlab.ui.core.outside import draw_error

_SOURCE, _TEXT, _MESSAGE = "edited_source", "edited_source_text", "edited_source_message"


def source_and_target(task: AbstractTask, probes: np.ndarray) -> np.ndarray:
    """The chosen source and its true target as visible tokens; of the first probe at first."""
    kept = st.session_state.get(_SOURCE)
    if kept is None or kept[0] != task:
        _take(task, probes[0][: task.given()])
        st.session_state["edited_from_source"] = 0
        kept = st.session_state[_SOURCE]
    source = np.array(kept[1], np.int32)
    return np.concatenate([source, np.asarray(task.target_of(jnp.asarray(source)))[:-1]]).astype(
        np.int32
    )


def draw_source(task: AbstractTask, probes: np.ndarray, tokens: np.ndarray) -> None:
    """A menu of sources to begin with, and the chosen one as text that can be changed."""
    # Streamlit forgets it while another page is looked at.
    if _TEXT not in st.session_state:
        st.session_state[_TEXT] = write_source(task, tokens[: task.given()])
        st.session_state[_MESSAGE] = None
    st.selectbox(
        f"begin with {task.source_name}",
        range(len(probes)),
        key="edited_from_source",
        persist_state="session",
        format_func=lambda i: f"{i + 1}: {write_source(task, probes[i][: task.given()])}",
        width=260,
        on_change=_take_probe,
        args=(task, probes),
    )
    st.text_input(
        f"the {task.source_name}",
        key=_TEXT,
        max_chars=MOST_CHARACTERS,
        on_change=_read,
        args=(task,),
        width=260,
        help=f"Change it as you like: {task.source_length} of {task.spelling}. Its true target "
        "follows.",
    )
    if message := st.session_state.get(_MESSAGE):
        draw_error(message)


def _take(task: AbstractTask, source: np.ndarray) -> None:
    st.session_state[_SOURCE] = (task, tuple(int(token) for token in source))
    st.session_state[_TEXT] = write_source(task, source)
    st.session_state[_MESSAGE] = None


def _take_probe(task: AbstractTask, probes: np.ndarray) -> None:
    _take(task, probes[st.session_state["edited_from_source"]][: task.given()])


def _read(task: AbstractTask) -> None:
    try:
        source = read_source(task, st.session_state[_TEXT])
    except OptionError as error:
        st.session_state[_MESSAGE] = str(error)
        return
    st.session_state[_SOURCE] = (task, tuple(source.tolist()))
    st.session_state[_MESSAGE] = None
