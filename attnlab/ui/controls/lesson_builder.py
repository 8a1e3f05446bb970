"""The fields in which a teacher writes a lesson, or changes the one that a link brought."""

import streamlit as st

from attnlab.runs.links import (
    MOST_TEXT_CHARACTERS,
    MOST_TITLE_CHARACTERS,
    Lesson,
    all_but,
    labels_of,
)
from attnlab.training.experiment import Experiment

_TITLE, _TEXT, _HIDING, _CONTROLS = "lesson_title", "lesson_text", "lesson_hiding", "lesson_hidden"
_HIDE, _HIDE_ALL_BUT = "hide", "hide all but"


def fill_builder(lesson: Lesson) -> None:
    """Set the fields to a lesson. Before they are drawn."""
    st.session_state[_TITLE], st.session_state[_TEXT] = lesson.title, lesson.text
    st.session_state[_HIDING] = _HIDE if lesson.shown is None else _HIDE_ALL_BUT
    st.session_state[_CONTROLS] = list(lesson.hidden if lesson.shown is None else lesson.shown)


def build_lesson(experiment: Experiment) -> Lesson:
    """Draw the fields; the lesson that they say, about the controls of this experiment."""
    title = st.text_input(
        "title", key=_TITLE, max_chars=MOST_TITLE_CHARACTERS, persist_state="session"
    )
    text = st.text_area(
        "exercise",
        key=_TEXT,
        max_chars=MOST_TEXT_CHARACTERS,
        height="content",
        persist_state="session",
        placeholder="Find the mask that makes dotmod learnable.",
        help="Line breaks are kept. `*italic*`, `**bold**`, lists and code as in Markdown; links "
        "and HTML are shown as they are typed.",
    )
    hiding = st.radio(
        "controls of the sidebar",
        [_HIDE, _HIDE_ALL_BUT],
        key=_HIDING,
        horizontal=True,
        persist_state="session",
    )
    controls = labels_of(experiment)
    # Another process or model has other controls.
    chosen = [key for key in st.session_state.get(_CONTROLS, []) if key in controls]
    st.session_state[_CONTROLS] = chosen
    named = tuple(
        st.multiselect(
            "which",
            list(controls),
            format_func=controls.get,
            key=_CONTROLS,
            placeholder="",
            persist_state="session",
        )
    )
    return Lesson(title, text, named if hiding == _HIDE else all_but(named))
