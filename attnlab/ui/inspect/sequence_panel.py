"""The editor of the sequence that the model reads."""

import numpy as np
import streamlit as st

from attnlab.generators.vocabulary import Vocabulary
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.outside import as_text
from attnlab.ui.inspect.prediction_panel import MAP_AND_BARS
from attnlab.ui.train.cursor import follow_shown_step
from attnlab.ui.train.inside.panel import EDITED, EDITED_FROM, edited_sequence

# Maximum number of positions whose buttons are shown at the same time.
_MOST_BUTTONS = 64
# With more positions the columns of the map are narrower than a button.
_MOST_ALIGNED = 12


def draw_sequence(snapshot: Snapshot) -> np.ndarray:
    """Draw the editor of the sequence that the model reads; return its tokens, `(length,)`.

    At first it is the sequence of the film, which follows the changes.
    """
    process = snapshot.experiment.generator
    tokens, is_edited = edited_sequence(snapshot)
    draw_days(process.vocabulary, np.array(tokens), process.position_word)
    if is_edited:
        draw_button("Undo changes", "undo_edits", "undo", _undo)
    return np.array(tokens)


def draw_days(vocabulary: Vocabulary, tokens: np.ndarray, word: str) -> None:
    """Draw one button per position; a click changes its token to the next of the vocabulary.

    A long sequence is split into parts, of which one is shown.
    """
    st.caption(
        f"**Try this.** Click a {word} to change it ({as_text(' → '.join(vocabulary.symbols))}). "
        "Does the model's prediction change with the true one?"
    )
    parts = range(0, len(tokens), _MOST_BUTTONS)
    first = parts[-1]
    if len(parts) > 1:
        first = st.segmented_control(
            f"{word}s shown",
            parts,
            format_func=lambda at: f"{at + 1} to {min(at + _MOST_BUTTONS, len(tokens))}",
            default=first,
            required=True,
            key=f"edited_part_{len(tokens)}",
            label_visibility="collapsed",
        )
    # Few buttons are as wide as the map below and, by `style.css`, above its columns.
    place, key = st.container(), "day_editor"
    if len(tokens) <= _MOST_ALIGNED:
        place, key = st.columns(MAP_AND_BARS, gap="medium")[0], "aligned_days"
    with place.container(horizontal=True, gap="xxsmall", key=key):
        for day in range(first, min(first + _MOST_BUTTONS, len(tokens))):
            label = f"{as_text(vocabulary.symbols[tokens[day]])} {day + 1}"
            # The argument is the new token, so that a click that arrives twice is harmless.
            token = (int(tokens[day]) + 1) % vocabulary.size
            draw_button(label, f"edit_day_{day + 1}", None, _turn, day, token)


def _turn(day: int, token: int) -> None:
    tokens = list(st.session_state[EDITED])
    tokens[day] = token
    st.session_state[EDITED] = tuple(tokens)
    follow_shown_step()


def _undo() -> None:
    # The click may arrive twice.
    st.session_state.pop(EDITED_FROM, None)
    follow_shown_step()
