"""The experiment in the address bar: read from links, written at every change."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import streamlit as st

from attnlab.configuration.options import OptionError, quoted
from attnlab.runs.links import Lesson, Link, from_query, is_link, to_query
from attnlab.training.experiment import Experiment
from attnlab.training.presets import FIRST_PRESET, PRESETS
from attnlab.ui.controls.form_state import begin_form, fill_form, read_form
from attnlab.ui.controls.lesson_builder import build_lesson, fill_builder
from attnlab.ui.controls.receipt import ask_for_receipt, draw_receipt, is_behind
from attnlab.ui.core.outside import draw_lesson_words, draw_warning
from attnlab.ui.core.session_run import session_run

_WRITTEN, _NOTICES = "link_written", "link_notices"
_MOST_NOTICES = 10
_BARE, _OWN, _ALL = "address_is_bare", "link_own", "link_all"
# The controls of a lesson may have put theirs there meanwhile.
_COMPLETE = """
if (location.pathname.endsWith('%s')) {
    const query = new URLSearchParams(location.search)
    new URLSearchParams('%s').forEach((value, key) => query.set(key, value))
    history.replaceState(history.state, '', '?' + query + location.hash)
}
"""


class OwnParameters(NamedTuple):
    """Parameters that one page has in its address beside the settings.

    Which they are, what the page's controls say, and how those are set; `fill` returns what of it
    was not understood, a line each. `clear` is for an address without them, on a page whose
    controls need not say anything.
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
) -> None:
    """Make the controls and the address agree. First thing on every page.

    Controls that nobody has touched yet are set to the page's `first_preset`, unless a link says
    otherwise.

    An address that is not the one last written here, by a link or the browser's back button, sets
    the controls; otherwise the controls set the address. A page that `has_own_settings` keeps
    further ones in the address; one with `own_parameters` has those follow its controls.
    """
    begin_form()
    query = st.query_params.to_dict()
    link = from_query(query) if is_link(query) else None
    if link is None and first_preset != FIRST_PRESET and _is_untouched():
        experiment = PRESETS[first_preset].experiment
        fill_form(experiment, preset=first_preset)
        # As if the address had them: whoever came by the menu goes back with one press.
        st.session_state[_WRITTEN] = to_query(experiment)
    written: dict[str, str] = st.session_state.get(_WRITTEN, {})
    others = {key: query[key] for key in (query if link is None else link.unknown)}
    asked = {}
    if own_parameters is not None:
        asked = {key: text for key, text in others.items() if own_parameters.are(key)}
        others = {key: text for key, text in others.items() if key not in asked}
    notices: tuple[str, ...] | None = None
    if link is not None and _asks_for_more(link, written):
        fill_form(link.experiment)
        st.session_state["lesson"] = link.lesson
        if link.lesson != Lesson():
            fill_builder(link.lesson)
        # Also where these settings cannot run here: they are to be mended, not set again.
        st.session_state[_WRITTEN] = to_query(link.experiment, link.lesson)
        notices = link.notices
        if not has_own_settings:
            unknown = (f"{quoted(key)} is not a setting of this experiment." for key in others)
            notices += tuple(unknown)
            others = {}
    if own_parameters is not None:
        if _asks_for_others(asked):
            notices = (*(notices or ()), *own_parameters.fill(asked))
        elif link is not None and not asked and st.session_state.get(_OWN) and not is_behind():
            own_parameters.clear()
        others |= (parameters := own_parameters.read())
    if notices is not None:
        st.session_state[_NOTICES] = notices
    form = read_form()
    if not isinstance(form, OptionError):
        own = st.session_state[_WRITTEN] = to_query(form, st.session_state.get("lesson"))
        st.session_state[_BARE] = link is None and not asked and own == written
        st.session_state[_ALL] = own | others
        if own_parameters is not None:
            st.session_state[_OWN] = parameters
        if own | others != query and not st.session_state[_BARE]:
            st.query_params.from_dict(own | others)
            ask_for_receipt()
    draw_receipt()


def _is_untouched() -> bool:
    is_idle = session_run().snapshot().state == "idle"
    return is_idle and read_form() == PRESETS[FIRST_PRESET].experiment


def _asks_for_others(asked: dict[str, str]) -> bool:
    """Whether somebody went to an address with these parameters of a page's own.

    Whoever came by the menu has none yet, and the way to another page may leave an entry without.
    """
    written = st.session_state.get(_OWN)
    return bool(asked) and asked != written and (written is None or not is_behind())


def _asks_for_more(link: Link, written: dict[str, str]) -> bool:
    """Whether somebody went to this address, rather than having it from here."""
    if not written:
        return True
    return not is_behind() and to_query(link.experiment, link.lesson) != written


def complete_address(page: str) -> None:
    """Give the settings to the address of whoever came by the menu. Last thing on every page.

    Streamlit can only add to the browser's history, and the back button would lead from the new
    entry to the one without settings, which would add it again. What stood on the page before may
    run once more on the next one, so that it looks for the path of its own `page`.
    """
    if st.session_state.get(_BARE):
        # Letters with a meaning in HTML are written as codes in an address.
        st.html(
            f"<script>{_COMPLETE % (page, urlencode(st.session_state[_ALL]))}</script>",
            unsafe_allow_javascript=True,
        )


def go_to(page: Path) -> None:
    """Go to another page, as from the menu, with the settings that the controls have by now.

    A page that finds settings which nobody has written yet adds an entry to the browser's history,
    and the back button would lead to the same page without them.
    """
    form = read_form()
    if not isinstance(form, OptionError):
        st.session_state[_WRITTEN] = to_query(form, st.session_state.get("lesson"))
    st.switch_page(page)


def draw_notices() -> None:
    """What of the link was not understood, until it is dismissed by the next link."""
    notices = st.session_state.get(_NOTICES, ())
    if notices:
        further = len(notices) - _MOST_NOTICES
        draw_warning(
            "Not everything in the link was understood; the rest was kept.",
            *notices[:_MOST_NOTICES],
            *([f"{further:,} more parts have problems."] if further > 0 else []),
            icon=":material/link_off:",
        )


def draw_lesson() -> None:
    """The words that a teacher sent along, and the way out. On every page, above all else."""
    lesson: Lesson = st.session_state.get("lesson", Lesson())
    # It is always there: what comes and goes must not move the fragments behind it.
    place = st.container()
    if lesson == Lesson():
        return
    with place.container(border=True, key="lesson_strip"):
        # Side by side, and below each other on a phone.
        words, way_out = st.columns([4, 1.3])
    with words:
        if lesson.title or lesson.text:
            draw_lesson_words(lesson.title, lesson.text, key="lesson_words")
        else:
            st.markdown("This link leaves some controls out.")
    way_out.button(
        "Leave the lesson",
        key="lesson_leave",
        width="stretch",
        on_click=lambda: st.session_state.update(lesson=Lesson()),
        help="Shows all controls. The settings stay as they are.",
        icon=":material/logout:",
    )


def draw_link_panel(form: Experiment | OptionError) -> None:
    """The link to copy, and what a teacher may add to it."""
    panel = st.expander(
        "Link and lesson", key="link_panel", on_change="rerun", icon=":material/link:"
    )
    if not panel.open:
        return
    with panel:
        if isinstance(form, OptionError):
            st.info("These settings cannot run, and have no link.", icon=":material/link_off:")
            return
        st.markdown("This link opens these settings with this seed.")
        st.code(_address(form, Lesson()), language=None, wrap_lines=True)
        st.markdown(
            "**Lesson.** Say what to find out, and hide the controls that would distract: the link "
            "below carries both. It shows the words at the top of every page."
        )
        lesson = build_lesson(form)
        if lesson.title or lesson.text:
            with st.container(border=True):
                draw_lesson_words(lesson.title, lesson.text, key="lesson_preview")
        if lesson != Lesson():
            st.code(_address(form, lesson), language=None, wrap_lines=True)


def _address(form: Experiment, lesson: Lesson) -> str:
    here = urlsplit(st.context.url or "")
    return here._replace(query=urlencode(to_query(form, lesson)), fragment="").geturl()
