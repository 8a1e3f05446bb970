"""A source of letters that the reader types."""

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.generators import AbstractTask, read_source
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.outside import draw_error


def draw_source(task: AbstractTask, default: str, *, key: str) -> tuple[int, ...]:
    """The field, and the tokens of what stands in it; where that is no source, of `default`."""
    letters, count = task.vocabulary, task.source_length
    text = linked(
        st.text_input, f"source: {count} letters from a to {letters.symbols[-1]}",
        default, key=key, width=260, max_chars=40,
    )  # fmt: skip
    try:
        return tuple(read_source(task, text).tolist())
    except OptionError as error:
        draw_error(f"{error} Shown is {default}.")
        return tuple(read_source(task, default).tolist())
