"""The link to copy, with or without a lesson."""

from collections.abc import Mapping
from html import escape
from urllib.parse import urlencode, urlsplit

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.runs.links import Lesson, left_out_of_link, lesson_names, to_query
from attnlab.training.experiment import Experiment
from attnlab.ui.controls.address import LESSON
from attnlab.ui.controls.lesson_controls import build_lesson, open_lesson
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.outside import as_text, draw_lesson_words
from attnlab.ui.core.server import lessons_folder

_MINE = "my_lessons"
# Hosts that other computers cannot reach.
_LOCAL = ("localhost", "127.0.0.1", "::1")
_QR_PIXELS = 320


@panel("Link and lesson", key="link_panel", icon="link")
def draw_link_panel(form: Experiment | OptionError) -> None:
    """Draw the link to copy, and the fields of a lesson."""
    if isinstance(form, OptionError):
        st.info("These settings cannot run, so they have no link.", icon=":material/link_off:")
        return
    st.markdown("This link opens these settings with this seed.")
    if missing := left_out_of_link(form):
        st.info(missing, icon=":material/link_off:")
    draw_address(to_query(form))
    st.markdown(
        "**Lesson.** Write the exercise and choose which controls students see. The link "
        "below carries both, and shows the text at the top of every page."
    )
    lesson = build_lesson(form)
    if lesson.title or lesson.text:
        with st.container(border=True):
            draw_lesson_words(lesson.title, lesson.text, key="lesson_preview")
    # The parameters of the lessons that the user listed in this session, by title.
    mine: dict[str, dict[str, str]] = st.session_state.setdefault(_MINE, {})
    if lesson != Lesson():
        query = to_query(form, lesson)
        draw_address(query, key="lesson")
        kept = {lesson.title or "without a title": query}
        draw_button("Add to my lessons", "lesson_keep", "playlist_add", mine.update, kept)
    if mine:
        _draw_lesson_list("My lessons", mine)
        st.caption(
            "This list is kept until the session ends. A lesson of the same title is replaced."
        )
    folder = lessons_folder()
    if folder is not None and open_lesson() == Lesson():
        named = {name: {LESSON: name} for name in lesson_names(folder)}
        _draw_lesson_list("Lessons of this server", named)


def _draw_lesson_list(title: str, lessons: Mapping[str, Mapping[str, str]]) -> None:
    """Draw a list of links to lessons, which have names and address parameters."""
    lines = [f"- [{as_text(name)}](?{urlencode(query)})" for name, query in lessons.items()]
    st.markdown("\n".join([f"**{title}**", "", *(lines or ["There are none yet."])]))


def draw_address(query: Mapping[str, str], *, key: str = "page") -> None:
    """Draw the address of this page with other parameters, to copy or as a QR code."""
    here = urlsplit(st.context.url or "")
    address = here._replace(query=urlencode(query), fragment="").geturl()
    st.code(address, language=None, wrap_lines=True)
    if here.hostname in _LOCAL:
        st.caption(
            ":material/warning: This link works only on this computer. To share it, use the "
            "address of a hosted server."
        )
    if st.toggle("QR code", key=f"qr_code_{key}"):
        _draw_qr_code(address)


def _draw_qr_code(address: str) -> None:
    # Imported here, as few visitors need it.
    import segno

    try:
        code = segno.make_qr(address, error="l")
    except segno.DataOverflowError:
        st.info("The link is too long for a QR code.", icon=":material/qr_code:")
        return
    # On white also in the dark theme: cameras need a dark code on a light background.
    # As a picture, since Streamlit removes SVG from HTML.
    source = escape(code.svg_data_uri(light="white"))
    st.html(f'<img alt="QR code of the link" width="{_QR_PIXELS}" src="{source}">')
