"""The experiment in the address bar, and how pages lead to each other."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlencode

import streamlit as st

from attnlab.configuration.options import OptionError, quoted
from attnlab.runs.links import from_query, is_link, read_lesson, to_query
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
from attnlab.ui.controls.lesson_controls import open_lesson, take_lesson
from attnlab.ui.core.display import TRAIN_PAGE, draw_button
from attnlab.ui.core.outside import as_text, draw_warning
from attnlab.ui.core.server import lessons_folder
from attnlab.ui.core.session import session
from attnlab.ui.core.session_library import session_run

_WRITTEN, _NOTICES = "link_written", "link_notices"
_BARE, _OWN = "address_is_bare", "link_own"
_MOST_NOTICES = 10
# The parameter that names a lesson of the server.
LESSON = "lesson"
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
    clear: Callable[[], object] = lambda: None


def choices_in_address(choices: Mapping[str, tuple[str, ...]]) -> OwnParameters:
    """Return the parameters of controls with these keys and choices, of which the first is usual.

    The usual choice is not in the address.
    """

    def read() -> dict[str, str]:
        chosen = {key: st.session_state.setdefault(key, of[0]) for key, of in choices.items()}
        return {key: text for key, text in chosen.items() if text != choices[key][0]}

    def fill(query: Mapping[str, str]) -> tuple[str, ...]:
        for key, of in choices.items():
            st.session_state[key] = query[key] if query.get(key) in of else of[0]
        wrong = (key for key, text in query.items() if text not in choices[key])
        return tuple(f"`{key}` has no choice {quoted(query[key])}." for key in wrong)

    return OwnParameters(choices.__contains__, read, fill, lambda: fill({}))


def follow_address(
    *,
    has_own_settings: bool,
    own_parameters: OwnParameters | None = None,
    first_preset: str = FIRST_PRESET,
    first_values: Mapping[str, Any] = MappingProxyType({}),
    has_anchors: bool = False,
) -> tuple[str, ...]:
    """Make the controls and the address agree. The shell calls it before a page is drawn.

    If a link or the Back button changed the address, the controls are set from it. Otherwise the
    address is set from the controls.

    Args:
        has_own_settings: Whether the page has controls bound to further address parameters.
        own_parameters: Further address parameters that the page reads and writes itself.
        first_preset: Preset for untouched controls, if there is no link.
        first_values: Values of untouched controls, by key, if there is no link. Links leave out the
            defaults of controls, so that other defaults would change old links.
        has_anchors: Whether the address may end in an anchor, which a new entry in the browser's
            history would drop. Settings are then added to the entry, as in `complete_address`.

    Returns:
        The keys of all other parameters, for `draw_unknown`.
    """
    # Asked first, since `begin_form` may correct a control and ask for another receipt.
    behind = is_behind()
    begin_form()
    state = st.session_state
    query, notices = st.query_params.to_dict(), []
    if (name := query.pop(LESSON, None)) is not None:
        try:
            query = {**read_lesson(lessons_folder(), name), **query}
        except OptionError as error:
            notices.append(str(error))
    link = from_query(query, st.session_state.to_dict()) if is_link(query) else None
    if link is None and first_preset != FIRST_PRESET and _is_untouched():
        experiment = PRESETS[first_preset].experiment
        fill_form(experiment)
        # Treated as written, so that pressing Back once leaves a page opened from the menu.
        state[_WRITTEN] = to_query(experiment)
    written: dict[str, str] = state.get(_WRITTEN, {})
    unknown = query.keys() if link is None else link.unknown
    has_own = own_parameters.are if own_parameters is not None else lambda key: False
    requested = {key: query[key] for key in unknown if has_own(key)}
    others = {key: query[key] for key in unknown if key not in requested}
    # The user went to this address, and attnlab did not write it.
    is_new = link is not None and (
        not written or (not behind and to_query(link.experiment, link.lesson) != written)
    )
    if link is not None and is_new:
        fill_form(link.experiment)
        take_lesson(link.lesson)
        # Also if these settings cannot run here, else the next rerun would undo the corrections.
        state[_WRITTEN] = to_query(link.experiment, link.lesson)
        notices += link.notices
        if not has_own_settings:
            notices += (f"{quoted(key)} is not a setting of this experiment." for key in others)
            others = {}
    rest, parameters = tuple(others), {}
    if own_parameters is not None:
        # Addresses without such parameters do not count: the menu and page changes create them too.
        own = state.get(_OWN)
        if requested and requested != own and (own is None or not behind):
            is_new = True
            notices += own_parameters.fill(requested)
        elif link is not None and not requested and own and not behind:
            own_parameters.clear()
        parameters = own_parameters.read()
    if link is None:
        first = {k: v for k, v in first_values.items() if k not in query and k not in state}
        state.update(first)
        others |= {key: str(value) for key, value in first.items()}
    if is_new or notices:
        state[_NOTICES] = tuple(notices)
    form = read_form()
    if not isinstance(form, OptionError):
        settings = state[_WRITTEN] = to_query(form, open_lesson())
        state[_BARE] = link is None and not requested and (settings == written or has_anchors)
        address = session().address = settings | others | parameters
        if own_parameters is not None:
            state[_OWN] = parameters
        if address != query and not state[_BARE]:
            st.query_params.from_dict(address)
            ask_for_receipt()
    draw_receipt()
    return rest


def _is_untouched() -> bool:
    is_idle = session_run().snapshot().state == "idle"
    return is_idle and read_form() == PRESETS[FIRST_PRESET].experiment


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
    dismissing = st.session_state.pop, _NOTICES, None
    draw_button("Dismiss", "link_dismiss", "close", *dismissing, type="tertiary")


def draw_unknown(parameters: Iterable[str]) -> None:
    """Draw which address parameters no control of the page has, once the page is drawn."""
    unknown = [key for key in parameters if key not in st.session_state]
    if not unknown:
        return

    def remove() -> None:
        for key in unknown:
            st.query_params.pop(key, None)

    names = ", ".join(map(quoted, unknown[:_MOST_NOTICES]))
    draw_warning(
        f"The address sets {names}, but this page has no such control.",
        icon=":material/link_off:",
    )
    draw_button("Dismiss", "unknown_dismiss", "close", remove, type="tertiary")
