"""A lesson in a link: its text above every page, and the fields that build one."""

import streamlit as st

from attnlab.runs.links import (
    MOST_TEXT_CHARACTERS,
    MOST_TITLE_CHARACTERS,
    Lesson,
    all_but,
    labels_of,
)
from attnlab.training.experiment import Experiment
from attnlab.ui.core.display import draw_button, use_large_type
from attnlab.ui.core.outside import draw_lesson_words

_OPEN = "lesson"
_TITLE, _TEXT, _HIDING, _CONTROLS = "lesson_title", "lesson_text", "lesson_hiding", "lesson_hidden"
_NO_HINTS, _LARGE_TYPE = "lesson_no_hints", "lesson_large_type"
_HIDE, _HIDE_ALL_BUT = "hide", "show only"


def open_lesson() -> Lesson:
    """Return the lesson that is open, or an empty lesson."""
    return st.session_state.get(_OPEN, Lesson())


def take_lesson(lesson: Lesson) -> None:
    """Open the lesson of a link. Call it before the fields and the page's foot are drawn."""
    state = st.session_state
    state[_OPEN] = lesson
    if lesson != Lesson():
        state[_TITLE], state[_TEXT] = lesson.title, lesson.text
        state[_HIDING] = _HIDE if lesson.shown is None else _HIDE_ALL_BUT
        state[_CONTROLS] = list(lesson.hidden if lesson.shown is None else lesson.shown)
        state[_NO_HINTS], state[_LARGE_TYPE] = not lesson.has_hints, lesson.has_large_type
    if lesson.has_large_type:
        use_large_type()


def draw_lesson() -> None:
    """Draw the title and text of a lesson, and a button to leave it, at the top of a page."""
    lesson = open_lesson()
    # Always drawn: an element that comes and goes would move the fragments after it.
    place = st.container()
    if lesson == Lesson():
        return
    with place.container(border=True, key="lesson_strip"):
        # In a row, or stacked on a phone.
        words, way_out = st.columns([4, 1.3])
    with words:
        if lesson.title or lesson.text:
            draw_lesson_words(lesson.title, lesson.text, key="lesson_words")
        else:
            st.markdown("This link opens a lesson.")
    with way_out:
        draw_button(
            "Leave the lesson",
            "lesson_leave",
            "logout",
            take_lesson,
            Lesson(),
            width="stretch",
            help="Shows all controls. The settings stay as they are.",
        )


def build_lesson(experiment: Experiment) -> Lesson:
    """Draw the fields; return the lesson for this experiment."""
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
        help="Line breaks are kept. `*italic*`, `**bold**`, lists and code work as in Markdown. "
        "Links and HTML are shown as typed.",
    )
    hiding = st.radio(
        "controls of the sidebar",
        [_HIDE, _HIDE_ALL_BUT],
        key=_HIDING,
        horizontal=True,
        persist_state="session",
    )
    controls = labels_of(experiment)
    # Drop controls that the current process or model does not have.
    chosen = [key for key in st.session_state.get(_CONTROLS, []) if key in controls]
    st.session_state[_CONTROLS] = chosen
    named = tuple(
        st.multiselect(
            "which",
            list(controls),
            # Streamlit may still request the label of a control that no longer exists.
            format_func=lambda key: str(controls.get(key, key)),
            key=_CONTROLS,
            placeholder="",
            persist_state="session",
        )
    )
    with st.container(horizontal=True, gap="medium"):
        no_hints = st.checkbox(
            "no hints",
            key=_NO_HINTS,
            persist_state="session",
            help="Train suggests no changes of settings.",
        )
        large_type = st.checkbox("large type in charts", key=_LARGE_TYPE, persist_state="session")
    hidden = named if hiding == _HIDE else all_but(named)
    return Lesson(title, text, hidden, not no_hints, large_type)
