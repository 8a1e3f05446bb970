"""What a new visitor does first: press Start, or start another experiment with one click."""

from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from attnlab.generators import AbstractGenerator
from attnlab.training.experiment import Experiment
from attnlab.training.presets import FIRST_PRESET, PRESETS, Preset
from attnlab.ui.controls.address import go_to
from attnlab.ui.controls.form_state import fill_form, read_form
from attnlab.ui.core.display import COMPARE_PAGE, LOOK_INSIDE_PAGE, TRAIN_PAGE, draw_button
from attnlab.ui.core.outside import as_text
from attnlab.ui.core.session import session
from attnlab.ui.core.session_library import session_run
from attnlab.ui.train.controller import queue, reset, start
from attnlab.ui.train.film_panel import SEEN_END
from attnlab.ui.train.tabs import ALGORITHM, BELIEFS, VIEW, show_tab_of

# Cards by preset: a label, an icon, and the tab that looks into it, or "" if a click starts it.
_PUZZLE = "published-dotmod-attention"
_CARDS = {
    _PUZZLE: ("The blog's puzzle", "extension", ""),
    "cards-encoder-decoder": ("Sort cards", "playing_cards", ""),
    "mess3-belief": ("A fractal", "change_history", BELIEFS),
    "induction": ("An induction head", "search", ALGORITHM),
    "own-text": ("Your own text", "edit_note", ""),
}
_CHOSEN = "welcome"


def draw_welcome() -> None:
    """Draw what a new visitor does first, and other experiments; nothing for others.

    A new visitor came without a link and changed no setting since, in a browser that has not seen
    a run end. The shown run may be one of the library.
    """
    if not _is_new_visitor():
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="welcome"):
        words = {"idle": "**New here? Press Start.** Or try:", "done": "**New here? Try:**"}
        is_first = read_form() == PRESETS[FIRST_PRESET].experiment
        state = session_run().snapshot().state if is_first else ""
        st.markdown(words.get(state, "**Or try:**"), width="content")
        for name, (label, icon, _) in _CARDS.items():
            draw_button(label, f"welcome_{name}", icon, _choose, name, type="tertiary")


def follow_choice() -> None:
    """Go where the button of a card or of a next step leads; nothing if none was pressed."""
    page = session().kept.pop(_CHOSEN, None)
    if page is not None and page != TRAIN_PAGE:
        go_to(page)
    if page is not None:
        # The whole page starts the run, and the button is in a fragment.
        st.rerun()


def draw_comparison_step() -> None:
    """Draw the button of what to do after Look inside."""
    draw_button("Compare with other models", "next_step", "compare_arrows", _go_on, COMPARE_PAGE)


def draw_next_step(experiment: Experiment) -> None:
    """Draw the button of what to do on Train after a run that has nothing to mend."""
    if experiment == PRESETS[FIRST_PRESET].experiment:
        words = "Now try the blog's puzzle"
        draw_button(words, "next_step", "extension", _choose, _PUZZLE, type="primary")
    else:
        of = experiment.generator
        draw_button("Look inside", "next_step", "search", _look_inside, of, type="primary")


def draw_preset_choice(words: str, presets: Mapping[str, Preset]) -> None:
    """Draw a button for each preset that suits a page, with a sentence above."""
    with st.container(border=True, key="preset_choice"):
        st.markdown(words)
        for name, preset in presets.items():
            with st.container(horizontal=True, vertical_alignment="center"):
                draw_button(preset.title, f"choose_{name}", None, fill_form, preset.experiment)
                st.caption(as_text(preset.description), width="stretch")


def _is_new_visitor() -> bool:
    if "lesson" in st.session_state or SEEN_END in st.context.cookies.to_dict():
        return False
    return read_form() in [PRESETS[name].experiment for name in (FIRST_PRESET, *_CARDS)]


def _choose(preset: str) -> None:
    fill_form(PRESETS[preset].experiment)
    if tab := _CARDS[preset][-1]:
        st.session_state[VIEW] = tab
    # Another run than the one shown, which may be one of the library.
    queue(reset if tab else start)
    _go_on(LOOK_INSIDE_PAGE if tab else TRAIN_PAGE)


def _look_inside(process: AbstractGenerator) -> None:
    show_tab_of(process)
    _go_on(LOOK_INSIDE_PAGE)


def _go_on(page: Path) -> None:
    session().kept[_CHOSEN] = page
