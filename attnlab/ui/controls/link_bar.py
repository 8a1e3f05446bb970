"""The experiment in the address bar, and the link to copy."""

from collections.abc import Callable, Iterable, Mapping
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import streamlit as st

from attnlab.configuration.options import OptionError, quoted
from attnlab.runs.lesson_files import lesson_names, read_lesson
from attnlab.runs.links import Lesson, Link, from_query, is_link, to_query
from attnlab.training.experiment import Experiment
from attnlab.training.presets import FIRST_PRESET, PRESETS
from attnlab.ui.controls.form_state import (
    ask_for_receipt,
    begin_form,
    draw_receipt,
    fill_form,
    is_behind,
    read_form,
)
from attnlab.ui.controls.lesson_controls import build_lesson, open_lesson, take_lesson
from attnlab.ui.core.display import TRAIN_PAGE, draw_button
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.outside import as_text, draw_lesson_words, draw_warning
from attnlab.ui.core.server import lessons_folder
from attnlab.ui.core.session import session
from attnlab.ui.core.session_library import session_run

_WRITTEN, _NOTICES = "link_written", "link_notices"
_MOST_NOTICES = 10
# The parameter that names a lesson of the server, and the lessons that the user listed.
_NAMED, _MINE = "lesson", "my_lessons"
_BARE, _OWN = "address_is_bare", "link_own"
# Hosts that other computers cannot reach.
_LOCAL = ("localhost", "127.0.0.1", "::1")
_QR_PIXELS = 320
# Keeps parameters that the controls of a lesson page may have added meanwhile.
_COMPLETE = """
if (location.pathname.endsWith('%s')) {
    const query = new URLSearchParams(location.search)
    new URLSearchParams('%s').forEach((value, key) => query.set(key, value))
    history.replaceState(history.state, '', '?' + query + location.hash)
}
"""


class OwnParameters(NamedTuple):
    """How one page handles the address parameters that only it has.

    Attributes:
        are: Returns whether a key is such a parameter.
        read: Returns the parameters that the page's controls describe.
        fill: Sets the controls; returns a line for each parameter that was not understood.
        clear: Resets the controls, for an address without such parameters.
    """

    are: Callable[[str], bool]
    read: Callable[[], dict[str, str]]
    fill: Callable[[Mapping[str, str]], tuple[str, ...]]
    clear: Callable[[], None] = lambda: None


def follow_address(
    *,
    has_own_settings: bool,
    own_parameters: OwnParameters | None = None,
    first_preset: str = FIRST_PRESET,
    has_anchors: bool = False,
) -> tuple[str, ...]:
    """Make the controls and the address agree. The shell calls it before a page is drawn.

    If a link or the Back button changed the address, the controls are set from it. Otherwise the
    address is set from the controls.

    Args:
        has_own_settings: Whether the page has controls bound to further address parameters.
        own_parameters: Further address parameters that the page reads and writes itself.
        first_preset: Preset for untouched controls, if there is no link.
        has_anchors: Whether the address may end in an anchor, which a new entry in the browser's
            history would drop. Settings are then added to the entry, as in `complete_address`.

    Returns:
        The keys of all other parameters, for `draw_unknown`.
    """
    # Asked first, since `begin_form` may correct a control and ask for another receipt.
    behind = is_behind()
    begin_form()
    query, problem = _with_named_lesson(st.query_params.to_dict())
    link = from_query(query) if is_link(query) else None
    if link is None and first_preset != FIRST_PRESET and _is_untouched():
        experiment = PRESETS[first_preset].experiment
        fill_form(experiment)
        # Treated as written, so that pressing Back once leaves a page opened from the menu.
        st.session_state[_WRITTEN] = to_query(experiment)
    written: dict[str, str] = st.session_state.get(_WRITTEN, {})
    others = {key: query[key] for key in (query if link is None else link.unknown)}
    requested = {}
    if own_parameters is not None:
        requested = {key: text for key, text in others.items() if own_parameters.are(key)}
        others = {key: text for key, text in others.items() if key not in requested}
    notices: tuple[str, ...] | None = None
    if link is not None and _asks_for_more(link, written, behind=behind):
        fill_form(link.experiment)
        take_lesson(link.lesson)
        # Also if these settings cannot run here, else the next rerun would undo the corrections.
        st.session_state[_WRITTEN] = to_query(link.experiment, link.lesson)
        notices = link.notices
        if not has_own_settings:
            unknown = (f"{quoted(key)} is not a setting of this experiment." for key in others)
            notices += tuple(unknown)
            others = {}
    rest = tuple(others)
    if own_parameters is not None:
        if _asks_for_others(requested, behind=behind):
            notices = (*(notices or ()), *own_parameters.fill(requested))
        elif link is not None and not requested and st.session_state.get(_OWN) and not behind:
            own_parameters.clear()
        others |= (parameters := own_parameters.read())
    if problem:
        notices = (problem, *(notices or ()))
    if notices is not None:
        st.session_state[_NOTICES] = notices
    form = read_form()
    if not isinstance(form, OptionError):
        own = st.session_state[_WRITTEN] = to_query(form, open_lesson())
        st.session_state[_BARE] = link is None and not requested and (own == written or has_anchors)
        session().address = own | others
        if own_parameters is not None:
            st.session_state[_OWN] = parameters
        if own | others != query and not st.session_state[_BARE]:
            st.query_params.from_dict(own | others)
            ask_for_receipt()
    draw_receipt()
    return rest


def _with_named_lesson(query: dict[str, str]) -> tuple[dict[str, str], str]:
    """Return the parameters with those of the lesson's file, and a problem with that file or ""."""
    name = query.pop(_NAMED, None)
    if name is None:
        return query, ""
    try:
        return {**read_lesson(lessons_folder(), name), **query}, ""
    except OptionError as error:
        return query, str(error)


def _is_untouched() -> bool:
    is_idle = session_run().snapshot().state == "idle"
    return is_idle and read_form() == PRESETS[FIRST_PRESET].experiment


def _asks_for_others(requested: dict[str, str], *, behind: bool) -> bool:
    """Return whether the user went to an address that sets the page's own parameters differently.

    Addresses without such parameters do not count: the menu and page changes create them too.
    """
    written = st.session_state.get(_OWN)
    return bool(requested) and requested != written and (written is None or not behind)


def _asks_for_more(link: Link, written: dict[str, str], *, behind: bool) -> bool:
    """Return whether the user went to this address, and attnlab did not write it."""
    if not written:
        return True
    return not behind and to_query(link.experiment, link.lesson) != written


def complete_address(page: str) -> None:
    """Add the settings to the address of a page opened from the menu, after the page is drawn.

    This replaces the entry in the browser's history; Streamlit can only add entries, and Back would
    then lead to the entry without settings. The script checks that the browser still shows `page`,
    since it may run once more on the next page.
    """
    if st.session_state.get(_BARE):
        # Safe in HTML: `urlencode` encodes all characters with a meaning there.
        st.html(
            f"<script>{_COMPLETE % (page, urlencode(session().address))}</script>",
            unsafe_allow_javascript=True,
        )


def go_to(page: Path) -> None:
    """Go to another page as from the menu, with the current settings of the controls.

    Without this, the page would add a second entry with the settings to the browser's history.
    """
    form = read_form()
    if not isinstance(form, OptionError):
        st.session_state[_WRITTEN] = to_query(form, open_lesson())
    st.switch_page(page)


def draw_train_menu(experiments: Mapping[str, Experiment], key: str) -> None:
    """Draw a menu of experiments by label; a choice opens Train with its settings."""
    choices = {as_text(label): experiment for label, experiment in experiments.items()}

    def fill() -> None:
        if (chosen := choices.get(st.session_state[key])) is not None:
            fill_form(chosen)

    icon = ":material/model_training:"
    if choices and st.menu_button(
        "Open in Train", list(choices), key=key, icon=icon, on_click=fill
    ):
        go_to(TRAIN_PAGE)


def draw_notices() -> None:
    """Draw the parts of the last link that were not understood, until the user dismisses them."""
    notices = st.session_state.get(_NOTICES, ())
    if not notices:
        return
    further = len(notices) - _MOST_NOTICES
    draw_warning(
        "Part of the link could not be read; the rest was applied.",
        *notices[:_MOST_NOTICES],
        *([f"{further:,} more parts have problems."] if further > 0 else []),
        icon=":material/link_off:",
    )
    draw_button("Dismiss", "link_dismiss", "close", _dismiss_notices, type="tertiary")


def _dismiss_notices() -> None:
    st.session_state.pop(_NOTICES, None)


def draw_unknown(parameters: Iterable[str]) -> None:
    """Draw which address parameters no control of the page has, once the page is drawn."""
    unknown = [key for key in parameters if key not in st.session_state]
    if unknown:
        names = ", ".join(map(quoted, unknown[:_MOST_NOTICES]))
        draw_warning(
            f"The address sets {names}, but this page has no such control.",
            icon=":material/link_off:",
        )
        draw_button(
            "Dismiss", "unknown_dismiss", "close", _remove_from_address, unknown, type="tertiary"
        )


def _remove_from_address(parameters: Iterable[str]) -> None:
    for key in parameters:
        st.query_params.pop(key, None)


@panel("Link and lesson", key="link_panel", icon="link")
def draw_link_panel(form: Experiment | OptionError) -> None:
    """Draw the link to copy, and the fields of a lesson."""
    if isinstance(form, OptionError):
        st.info("These settings cannot run, so they have no link.", icon=":material/link_off:")
        return
    st.markdown("This link opens these settings with this seed.")
    draw_address(to_query(form))
    st.markdown(
        "**Lesson.** Write the exercise and choose which controls students see. The link "
        "below carries both, and shows the text at the top of every page."
    )
    lesson = build_lesson(form)
    if lesson.title or lesson.text:
        with st.container(border=True):
            draw_lesson_words(lesson.title, lesson.text, key="lesson_preview")
    if lesson != Lesson():
        query = to_query(form, lesson)
        draw_address(query, key="lesson")
        kept = {lesson.title or "without a title": query}
        draw_button("Add to my lessons", "lesson_keep", "playlist_add", _my_lessons().update, kept)
    if _my_lessons():
        _draw_lesson_list("My lessons", _my_lessons())
        st.caption(
            "This list is kept until the session ends. A lesson of the same title is replaced."
        )
    folder = lessons_folder()
    if folder is not None and open_lesson() == Lesson():
        named = {name: {_NAMED: name} for name in lesson_names(folder)}
        _draw_lesson_list("Lessons of this server", named)


def _my_lessons() -> dict[str, dict[str, str]]:
    """Return the parameters of the lessons that the user listed in this session, by title."""
    return st.session_state.setdefault(_MINE, {})


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
