"""What is shown while a control holds nothing that makes sense."""

from typing import TypeVar

import streamlit as st

_Value = TypeVar("_Value")


def or_last_good(value: _Value | None, otherwise: _Value, *, key: str) -> _Value:
    """The value; while there is none the last one there was, or `otherwise` before the first."""
    if value is not None:
        st.session_state[key] = value
    return st.session_state.get(key, otherwise)
