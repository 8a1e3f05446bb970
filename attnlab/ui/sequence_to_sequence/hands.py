"""The sources on the table: the run's probe sequences, unless the user has replaced them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.random as jr
import numpy as np
import streamlit as st

from attnlab.configuration.options import MOST_CHARACTERS, OptionError
from attnlab.generators import AbstractTask, is_task, read_source, write_source
from attnlab.ui.controls.address import OwnParameters
from attnlab.ui.controls.form_state import read_form
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.outside import as_text, draw_error

MOST_HANDS = 5
# Key of the task and of the sources that the user drew or edited, by row of the table.
_OWN, _DEALT, _CHANGED = "hands_own", "hands_dealt", "hands_changed"
_PARAMETER = "source"


def hands_of(task: AbstractTask, probes: np.ndarray) -> np.ndarray:
    """Return the sources on the table, `(rows, source)`: the user's own or else probe sequences."""
    hands = np.array(probes[:MOST_HANDS, : task.prompt_length()])
    for place, tokens in _own(task).items():
        hands[place] = tokens
    return hands


def change_hand(task: AbstractTask, place: int, tokens: np.ndarray) -> None:
    """Callback: replace the source in one row of the table."""
    _put(task, place, tokens)
    st.session_state[_CHANGED] = True


def deal(task: AbstractTask, seed: int) -> None:
    """Callback: replace all sources by new random ones."""
    st.session_state[_DEALT] = number = st.session_state.get(_DEALT, 0) + 1
    keys = jr.split(jr.fold_in(jr.key(seed), number), MOST_HANDS)
    for place, tokens in enumerate(np.asarray(jax.vmap(task.draw_source)(keys))):
        change_hand(task, place, tokens)


def put_back(task: AbstractTask) -> None:
    """Callback: replace all sources by the probe sequences."""
    st.session_state[_OWN], st.session_state[_CHANGED] = (task, {}), True


def heed_changes() -> None:
    """Rerun the whole page if a source was edited, so that the address is updated too."""
    if st.session_state.pop(_CHANGED, False):
        st.rerun()


def _put(task: AbstractTask, place: int, tokens: np.ndarray) -> None:
    st.session_state[_OWN] = task, {**_own(task), place: tuple(int(token) for token in tokens)}


def _own(task: AbstractTask) -> dict[int, tuple[int, ...]]:
    of, own = st.session_state.get(_OWN, (task, {}))
    return own if of == task else {}


def _task() -> AbstractTask | None:
    form = read_form()
    if isinstance(form, OptionError) or not is_task(form.generator):
        return None
    return form.generator


def _read_own() -> dict[str, str]:
    """Return the address parameter with the first source, if the user has replaced it."""
    if (task := _task()) is None or 0 not in (own := _own(task)):
        return {}
    return {_PARAMETER: write_source(task, own[0])}


def _fill(query: Mapping[str, str]) -> tuple[str, ...]:
    task = _task()
    if task is None:
        return (f"`{_PARAMETER}` needs a task, but the link's process is not one.",)
    try:
        _put(task, 0, read_source(task, query[_PARAMETER]))
    except OptionError as error:
        return (str(error),)
    return ()


PARAMETERS = OwnParameters(
    lambda key: key == _PARAMETER, _read_own, _fill, lambda: st.session_state.pop(_OWN, None)
)


def draw_hand_editor(task: AbstractTask, hand: np.ndarray, place: int, seed: int) -> None:
    """Draw the controls that replace, restore, type or edit the source in row `place`."""
    thing = task.token_name
    with st.container(horizontal=True, vertical_alignment="bottom", key="hand_editor"):
        draw_button(
            "Deal" if task.source_name == "hand" else "Draw",
            "hands_deal",
            "shuffle",
            deal,
            task,
            seed,
            help="Draws new sources for all rows; every source is equally likely.",
        )
        name, help = f"Original {task.source_name}s", "Shows the run's own probe sequences again."
        is_own = bool(_own(task))
        draw_button(name, "hands_back", "undo", put_back, task, disabled=not is_own, help=help)
    label, take = f"{task.source_name} {place + 1}", partial(change_hand, task, place)
    draw_source_field(
        label, task, hand, key=f"hand_text_{place}", take=take, help=f"{task.spelling}."
    )
    key = f"hand_place_{place}_{task.prompt_length()}"
    symbols = task.vocabulary.symbols
    chosen = st.pills(
        f"or click a {thing} to change it",
        range(task.prompt_length()),
        format_func=lambda at: as_text(symbols[hand[at]]),
        key=key,
        wrap=True,
    )
    if chosen is None:
        return
    free = [t for t in range(task.vocabulary.size) if task.may_repeat or t not in hand]
    picked = f"hand_pick_{place}_{chosen}"

    def pick() -> None:
        token = st.session_state.pop(picked)
        if token is not None:
            changed = np.array(hand)
            changed[chosen] = token
            change_hand(task, place, changed)
            st.session_state[key] = None

    st.pills(
        f"in place of {as_text(symbols[hand[chosen]])}",
        free,
        format_func=lambda token: as_text(symbols[token]),
        key=picked,
        wrap=True,
        on_change=pick,
    )


def draw_source_field(
    label: str,
    task: AbstractTask,
    source: np.ndarray,
    *,
    key: str,
    take: Callable[[np.ndarray], None],
    **options: Any,
) -> None:
    """Draw a source as text to edit; pass a valid new source to `take`, else show the error."""
    problem, shown, text = f"{key}_problem", f"{key}_of", write_source(task, source)
    # Reset the text when the source has changed, or after Streamlit has dropped it because another
    # source or page was open. So a rejected text stays until then.
    if key not in st.session_state or st.session_state.get(shown) != (task, text):
        st.session_state[key], st.session_state[shown] = text, (task, text)
        st.session_state.pop(problem, None)

    def read() -> None:
        try:
            take(read_source(task, st.session_state[key]))
        except OptionError as error:
            st.session_state[problem] = str(error)
        else:
            st.session_state.pop(problem, None)

    # A browser that misses the message that sets the text shows the default.
    st.text_input(label, text, key=key, max_chars=MOST_CHARACTERS, on_change=read, **options)
    if words := st.session_state.get(problem):
        draw_error(words)
