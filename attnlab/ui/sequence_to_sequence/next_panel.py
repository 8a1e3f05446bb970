"""The model's distribution of the next token, beside the true one."""

import jax.numpy as jnp
import numpy as np
import streamlit as st

from attnlab.configuration.number_text import show_percent
from attnlab.generators import AbstractTask
from attnlab.ui.core.page_theme import has_large_type, on_dark
from attnlab.ui.sequence_to_sequence.card_html import next_html

# Tokens of the model that are shown, besides the true one.
_MOST = 5


def draw_next(
    task: AbstractTask,
    source: np.ndarray,
    target: np.ndarray,
    probs: np.ndarray,
    laid: int,
    *,
    is_heated: bool,
) -> None:
    """The most probable tokens for the place after the `laid` ones, or the last place.

    `probs` are those at temperature 1, which is said where the target `is_heated`.
    """
    place = min(laid, task.given() - 1)
    true = true_probs(task, source, target[:place])
    likely = np.argsort(-probs[place], kind="stable")[:_MOST]
    shown = [*likely, *(token for token in np.argsort(-true)[:1] if token not in likely)]
    rows = [
        (task.vocabulary.symbols[token], float(probs[place, token]), float(true[token]))
        for token in shown
    ]
    rest = 1 - sum(model for _, model, _ in rows)
    st.markdown(f"**{task.token_name.capitalize()} {place + 1} of {task.given()}**")
    st.html(next_html(rows, dark=on_dark(), large=has_large_type(), columns=("model", "true")))
    heat = " at temperature 1" if is_heated else ""
    st.caption(
        f"The {_MOST} most probable under the model{heat}, given the source and what was written "
        "before; "
        f"all others together {show_percent(max(rest, 0.0))}. Grey: the true probabilities."
    )


def true_probs(task: AbstractTask, source: np.ndarray, before: np.ndarray) -> np.ndarray:
    """The true distribution of the token after a source and what was written of its target."""
    belief = task.start()
    for token in (*source, *before):
        belief = task.update(belief, jnp.asarray(token))
    return np.exp(np.asarray(task.log_probs(belief)))
