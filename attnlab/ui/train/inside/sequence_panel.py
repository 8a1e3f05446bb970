"""The sequence that the model reads: its menu, and the editor of its tokens."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from attnlab.configuration.options import present
from attnlab.generators import AbstractGenerator
from attnlab.generators.vocabulary import Vocabulary
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.outside import as_text
from attnlab.ui.train.cursor import follow_shown_step
from attnlab.ui.train.inside.shown import MEAN

# Key of the film's sequence.
_FILM = "probe"
# The user's changes of the sequence, and what they are changes of.
_EDITED, _EDITED_FROM = "edited_days", "edited_from"
# Maximum number of positions whose buttons are shown at the same time.
_MOST_BUTTONS = 64
_MENU_WIDTH = 235


def _sequence_key(process: AbstractGenerator, key: str = _FILM) -> str:
    return f"task_{key}" if process.writes_target else key


def chosen_sequence(snapshot: Snapshot) -> int:
    """Return the index of the film's probe sequence."""
    return st.session_state.get(_sequence_key(snapshot.experiment.generator), 0)


def edited_sequence(snapshot: Snapshot) -> tuple[int, ...]:
    """Return the tokens of the film's sequence with the user's changes."""
    process = snapshot.experiment.generator
    shown = tuple(map(int, present(snapshot.probes)[chosen_sequence(snapshot)]))
    # Another sequence of the film, or another process, has no changes yet.
    if st.session_state.get(_EDITED_FROM) != (process, shown):
        st.session_state[_EDITED_FROM] = process, shown
        st.session_state[_EDITED] = shown
    return st.session_state[_EDITED]


def draw_sequence_choice(
    snapshot: Snapshot, key: str = _FILM, *, has_mean: bool = False, **look: Any
) -> Any:
    """Draw the menu of probe sequences; return the chosen index, or `MEAN` for their mean."""
    process, probes = snapshot.experiment.generator, present(snapshot.probes)
    count, vocabulary = len(probes), process.vocabulary

    def name(choice: int | str) -> str:
        if choice == MEAN:
            return f"mean of {count} sequences"
        return f"{int(choice) + 1}: {vocabulary.shorten(probes[int(choice)])}"

    means = [MEAN] if has_mean else []
    return st.selectbox(
        "sequence",
        [*means, *range(count)],
        format_func=name,
        # A task starts with one sequence, since a mean over different alignments is blurred.
        index=len(means) if process.writes_target else 0,
        key=_sequence_key(process, key),
        persist_state="session",
        # The panels below the film follow its sequence.
        on_change=follow_shown_step if key == _FILM else None,
        width=_MENU_WIDTH,
        **look,
        help="The sequence read by the model. These sequences stay the same during training, so "
        "changes come from the model.",
    )


def draw_editable_sequence(snapshot: Snapshot) -> tuple[int, ...]:
    """Draw the menu of the film's sequence beside an editor; return the edited tokens."""
    process = snapshot.experiment.generator
    vocabulary, word = process.vocabulary, process.position_word
    with st.container(gap=None):
        other = "the truth" if process.has_law else f"the {process.best_words.best}"
        st.caption(f"**Try this.** Click a {word} to change it. Does the model follow {other}?")
        with st.container(horizontal=True, gap="xxsmall", key="day_editor"):
            chosen = draw_sequence_choice(snapshot, label_visibility="collapsed")
            tokens = edited_sequence(snapshot)
            draw_days(vocabulary, tokens, word)
            if tokens != tuple(map(int, present(snapshot.probes)[chosen])):
                draw_button("Undo changes", "undo_edits", "undo", _undo)
    return tokens


def draw_days(vocabulary: Vocabulary, tokens: Sequence[int], word: str) -> None:
    """Draw one button per position; a click changes its token to the next of the vocabulary.

    A long sequence is split into parts, of which one is shown.
    """
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
    for day in range(first, min(first + _MOST_BUTTONS, len(tokens))):
        label = f"{as_text(vocabulary.symbols[tokens[day]])} {day + 1}"
        # The argument is the new token, so that a click that arrives twice is harmless.
        token = (int(tokens[day]) + 1) % vocabulary.size
        draw_button(label, f"edit_day_{day + 1}", None, _turn, day, token)


def _turn(day: int, token: int) -> None:
    tokens = list(st.session_state[_EDITED])
    tokens[day] = token
    st.session_state[_EDITED] = tuple(tokens)
    follow_shown_step()


def _undo() -> None:
    # The click may arrive twice.
    st.session_state.pop(_EDITED_FROM, None)
    follow_shown_step()
