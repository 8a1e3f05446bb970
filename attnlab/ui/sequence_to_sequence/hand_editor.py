"""A source that is changed: dealt anew, typed, or token by token."""

import numpy as np
import streamlit as st

from attnlab.configuration.options import MOST_CHARACTERS, OptionError
from attnlab.generators import AbstractTask, read_source, write_source
from attnlab.ui.core.outside import as_text, draw_error
from attnlab.ui.sequence_to_sequence.hands import change_hand, deal, has_own, put_back


def draw_hand_editor(task: AbstractTask, hand: np.ndarray, place: int, seed: int) -> None:
    """Buttons, a field and the tokens of the hand to click on."""
    thing = task.token_name
    with st.container(horizontal=True, vertical_alignment="bottom", key="hand_editor"):
        st.button(
            "Deal" if task.source_name == "hand" else "Draw",
            key="hands_deal",
            icon=":material/shuffle:",
            on_click=deal,
            args=(task, seed),
            help="New ones in all places, as the task draws them: all are equally likely.",
        )
        st.button(
            "Watched ones",
            key="hands_back",
            icon=":material/undo:",
            disabled=not has_own(task),
            on_click=put_back,
            args=(task,),
            help="Those of the first watched sequences of the run.",
        )
    typed, problem = f"hand_text_{place}", f"hand_problem_{place}"
    text = write_source(task, hand)
    # The field shows the hand; what is typed and refused stays until the hand changes.
    # Streamlit forgets it while another hand or page is looked at.
    if typed not in st.session_state or st.session_state.get(f"{typed}_of") != (task, text):
        st.session_state[typed], st.session_state[f"{typed}_of"] = text, (task, text)
        st.session_state.pop(problem, None)
    st.text_input(
        f"{task.source_name} {place + 1}",
        key=typed,
        max_chars=MOST_CHARACTERS,
        on_change=_type,
        args=(task, place, typed, problem),
        help=f"{task.spelling}.",
    )
    if words := st.session_state.get(problem):
        draw_error(words)
    key = f"hand_place_{place}_{task.given()}"
    symbols = task.vocabulary.symbols
    chosen = st.pills(
        f"or click a {thing} to change it",
        range(task.given()),
        format_func=lambda at: as_text(symbols[hand[at]]),
        key=key,
        wrap=True,
    )
    if chosen is None:
        return
    free = [t for t in range(task.vocabulary.size) if task.may_repeat or t not in hand]
    picked = f"hand_pick_{place}_{chosen}"
    st.pills(
        f"in the place of {as_text(symbols[hand[chosen]])}",
        free,
        format_func=lambda token: as_text(symbols[token]),
        key=picked,
        wrap=True,
        on_change=_pick,
        args=(task, hand, place, chosen, key, picked),
    )


def _type(task: AbstractTask, place: int, key: str, problem: str) -> None:
    try:
        change_hand(task, place, read_source(task, st.session_state[key]))
    except OptionError as error:
        st.session_state[problem] = str(error)
    else:
        st.session_state.pop(problem, None)


def _pick(
    task: AbstractTask, hand: np.ndarray, place: int, chosen: int, key: str, picked: str
) -> None:
    token = st.session_state.pop(picked)
    if token is None:
        return
    changed = np.array(hand)
    changed[chosen] = token
    change_hand(task, place, changed)
    st.session_state[key] = None
