"""The panel with the link to copy, and with the fields in which teachers write a lesson."""

from urllib.parse import urlencode, urlsplit

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.runs.links import (
    MOST_TEXT_CHARACTERS,
    MOST_TITLE_CHARACTERS,
    Lesson,
    all_but,
    labels_of,
    to_query,
)
from attnlab.training.experiment import Experiment
from attnlab.ui.core.outside import draw_lesson_words

_TITLE, _TEXT, _HIDING, _CONTROLS = "lesson_title", "lesson_text", "lesson_hiding", "lesson_hidden"
_HIDE, _HIDE_ALL_BUT = "hide", "hide all but"


def fill_builder(lesson: Lesson) -> None:
    """Set the fields to a lesson. Call it before the fields are drawn."""
    st.session_state[_TITLE], st.session_state[_TEXT] = lesson.title, lesson.text
    st.session_state[_HIDING] = _HIDE if lesson.shown is None else _HIDE_ALL_BUT
    st.session_state[_CONTROLS] = list(lesson.hidden if lesson.shown is None else lesson.shown)


def _build_lesson(experiment: Experiment) -> Lesson:
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
    return Lesson(title, text, named if hiding == _HIDE else all_but(named))


def draw_link_panel(form: Experiment | OptionError) -> None:
    """Draw the link to copy, and the fields of a lesson."""
    panel = st.expander(
        "Link and lesson", key="link_panel", on_change="rerun", icon=":material/link:"
    )
    if not panel.open:
        return
    with panel:
        if isinstance(form, OptionError):
            st.info("These settings cannot run, so they have no link.", icon=":material/link_off:")
            return
        st.markdown("This link opens these settings with this seed.")
        st.code(_address(form, Lesson()), language=None, wrap_lines=True)
        st.markdown(
            "**Lesson.** Write the exercise and choose which controls students see. The link "
            "below carries both, and shows the text at the top of every page."
        )
        lesson = _build_lesson(form)
        if lesson.title or lesson.text:
            with st.container(border=True):
                draw_lesson_words(lesson.title, lesson.text, key="lesson_preview")
        if lesson != Lesson():
            st.code(_address(form, lesson), language=None, wrap_lines=True)


def _address(form: Experiment, lesson: Lesson) -> str:
    here = urlsplit(st.context.url or "")
    return here._replace(query=urlencode(to_query(form, lesson)), fragment="").geturl()
