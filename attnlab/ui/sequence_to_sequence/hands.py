"""The sources on the table: those of unseen sequences, until somebody deals or changes them."""

from collections.abc import Mapping

import jax
import jax.random as jr
import numpy as np
import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.generators import AbstractTask, read_source, write_source
from attnlab.ui.controls.form_state import read_form
from attnlab.ui.controls.link_bar import OwnParameters

MOST_HANDS = 5
# The task, and the sources that somebody dealt or changed, by their places.
_OWN, _DEALT, _CHANGED = "hands_own", "hands_dealt", "hands_changed"
_PARAMETER = "source"


def hands_of(task: AbstractTask, probes: np.ndarray) -> np.ndarray:
    """The sources on the table: own ones in their places, the others those of watched sequences."""
    hands = np.array(probes[:MOST_HANDS, : task.given()])
    for place, tokens in _own(task).items():
        hands[place] = tokens
    return hands


def change_hand(task: AbstractTask, place: int, tokens: np.ndarray) -> None:
    """Put a source in a place. For callbacks."""
    _put(task, place, tokens)
    st.session_state[_CHANGED] = True


def deal(task: AbstractTask, seed: int) -> None:
    """New sources in all places. For callbacks."""
    st.session_state[_DEALT] = number = st.session_state.get(_DEALT, 0) + 1
    keys = jr.split(jr.fold_in(jr.key(seed), number), MOST_HANDS)
    for place, tokens in enumerate(np.asarray(jax.vmap(task.draw_source)(keys))):
        change_hand(task, place, tokens)


def put_back(task: AbstractTask) -> None:
    """The sources of the watched sequences again. For callbacks."""
    st.session_state[_OWN], st.session_state[_CHANGED] = (task, {}), True


def heed_changes() -> None:
    """Draw the whole page if a hand was changed within the table: the address has to hear of it."""
    if st.session_state.pop(_CHANGED, False):
        st.rerun()


def has_own(task: AbstractTask) -> bool:
    """Whether a source on the table is somebody's own."""
    return bool(_own(task))


def _put(task: AbstractTask, place: int, tokens: np.ndarray) -> None:
    st.session_state[_OWN] = task, {**_own(task), place: tuple(int(token) for token in tokens)}


def _own(task: AbstractTask) -> dict[int, tuple[int, ...]]:
    of, own = st.session_state.get(_OWN, (task, {}))
    return own if of == task else {}


def _task() -> AbstractTask | None:
    form = read_form()
    generator = None if isinstance(form, OptionError) else form.generator
    return generator if isinstance(generator, AbstractTask) else None


def _read() -> dict[str, str]:
    """The first source, if it is somebody's own."""
    task = _task()
    own = {} if task is None else _own(task)
    return {_PARAMETER: write_source(task, own[0])} if 0 in own else {}


def _fill(query: Mapping[str, str]) -> tuple[str, ...]:
    task = _task()
    if task is None:
        return (f"`{_PARAMETER}` is for a task, and the link's process is none.",)
    try:
        _put(task, 0, read_source(task, query[_PARAMETER]))
    except OptionError as error:
        return (str(error),)
    return ()


def _clear() -> None:
    st.session_state.pop(_OWN, None)


PARAMETERS = OwnParameters(lambda key: key == _PARAMETER, _read, _fill, _clear)
