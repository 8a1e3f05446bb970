"""The user's own sequences in the form: a text to type or upload, and what was understood."""

from functools import partial
from typing import Any

import numpy as np
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnlab.configuration.options import OptionError, quoted
from attnlab.generators import OwnSequences
from attnlab.generators.own_text import MOST_BYTES, decode
from attnlab.runs.links import control_key
from attnlab.ui.controls.uploads import Message, draw_upload, take_upload
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.outside import as_message, as_text, draw_error

# The browser sends the whole text with every click, so that a longer one is uploaded.
MOST_TYPED_TEXT = 20_000
_UPLOAD = "own_text_file"
# What is listed of the lines that were not understood, and shown of the sequences.
_MOST_PROBLEMS, _MOST_SHOWN = 50, 3


def draw_own_text(label: str, common: dict[str, Any]) -> None:
    """Draw the text of the user: to type, or to replace by a file; `common` is for the control."""
    key = common["key"]

    def take(file: UploadedFile | None) -> Message:
        if file is None:
            return None
        try:
            st.session_state[key] = decode(file.getvalue())
        except OptionError as error:
            return partial(draw_error, f"{quoted(file.name)}: {error}")
        return None

    # Before the control of the text is drawn.
    take_upload(_UPLOAD, take)
    text = st.session_state[key]
    if isinstance(text, str) and len(text) > MOST_TYPED_TEXT:
        st.markdown(f"**{label}**: {len(text):,} characters", help=common["help"])
        draw_button("Clear", f"{key}_clear", "close", st.session_state.update, {key: ""})
    else:
        st.text_area(f"{label}: paste here", height=120, max_chars=MOST_TYPED_TEXT, **common)
    draw_upload(
        "or upload a text or CSV file",
        key=_UPLOAD,
        megabytes=MOST_BYTES // 10**6,
        help="In UTF-8, up to 1,000,000 characters. It stays in the memory of this session, and in "
        "the runs that you keep.",
    )


def draw_understood() -> None:
    """Draw what was understood of the text in the controls, and every line that was not."""
    keys = (control_key(OwnSequences, name) for name in ("text", "layout", "tokens", "letters"))
    with st.container(key="understood"):
        try:
            found = OwnSequences(*(st.session_state[key] for key in keys)).understood
        except OptionError as error:
            draw_error(as_message(str(error)))
            return
        st.caption(f":material/check: {as_text(found.in_words())}")
        first = np.split(found.tokens, np.cumsum(found.lengths[:_MOST_SHOWN]))[:_MOST_SHOWN]
        st.caption("  \n".join(as_text(found.vocabulary.shorten(each)) for each in first))
        if problems := found.problems:
            with st.expander(f"Not understood: {len(problems):,}", icon=":material/report:"):
                lines = [as_text(str(each)) for each in problems[:_MOST_PROBLEMS]]
                further = len(problems) - _MOST_PROBLEMS
                lines += [f"{further:,} more lines."] if further > 0 else []
                st.markdown("  \n".join(lines))
