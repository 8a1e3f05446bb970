"""Three runs that a new visitor starts with one click each."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from attnlab.runs.library import LibraryError
from attnlab.training.presets import FIRST_PRESET, PRESETS, Preset
from attnlab.ui.controls.form_state import fill_form, read_form
from attnlab.ui.controls.link_bar import go_to
from attnlab.ui.core.display import PAGES
from attnlab.ui.core.outside import as_text
from attnlab.ui.core.session import session
from attnlab.ui.core.session_library import session_library, session_run


class _Card(NamedTuple):
    """A button that starts the run of a preset, on another page if `page` is set."""

    words: str
    icon: str
    preset: str
    page: Path | None = None


_CARDS = (
    _Card("Watch heads find the days that matter", "visibility", FIRST_PRESET),
    _Card(
        "A blog post's puzzle: why does attention fail?", "extension", "published-dotmod-attention"
    ),
    _Card(
        "Sort a hand of cards",
        "playing_cards",
        "cards-encoder-decoder",
        PAGES / "sequence_to_sequence.py",
    ),
)


_CHOSEN = "welcome"


def draw_welcome() -> bool:
    """Draw a button for each run that a new visitor may start; return whether they are drawn.

    A new visitor has no run yet, came without a link, and changed no setting.
    """
    if card := session().kept.pop(_CHOSEN, None):
        if card.page is not None:
            go_to(card.page)
        # The whole page starts the run, and the button is in a fragment.
        st.rerun()
    if not _is_new_visitor():
        return False
    with st.container(gap="xsmall", key="welcome"):
        st.markdown("**New here? Pick an experiment; it starts at once.**")
        for card in _CARDS:
            st.button(
                card.words,
                key=f"welcome_{card.preset}",
                icon=f":material/{card.icon}:",
                width="stretch",
                on_click=_choose,
                args=(card,),
            )
    return True


def draw_preset_choice(words: str, presets: Mapping[str, Preset]) -> None:
    """Draw a button for each preset that suits a page, with a sentence above."""
    with st.container(border=True, key="preset_choice"):
        st.markdown(words)
        for name, preset in presets.items():
            with st.container(horizontal=True, vertical_alignment="center"):
                st.button(
                    preset.title,
                    key=f"choose_{name}",
                    on_click=fill_form,
                    args=(preset.experiment,),
                )
                st.caption(as_text(preset.description), width="stretch")


def _is_new_visitor() -> bool:
    is_idle = session_run().snapshot().state == "idle"
    if not is_idle or session().runs_shelved or "lesson" in st.session_state:
        return False
    try:
        has_runs = session_library().library.count() > 0
    except LibraryError:
        has_runs = False
    return not has_runs and read_form() == PRESETS[FIRST_PRESET].experiment


def _choose(card: _Card) -> None:
    fill_form(PRESETS[card.preset].experiment)
    session().commands.append("start")
    session().kept[_CHOSEN] = card
