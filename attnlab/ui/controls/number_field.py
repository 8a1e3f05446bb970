"""A field for a number."""

from typing import Any, TypeVar

import streamlit as st

_Number = TypeVar("_Number", int, float)


def number_field(label: str, low: _Number, high: _Number, *, key: str, **rest: Any) -> _Number:
    """Draw a field for the number that the session holds; emptied, it shows that number again.

    `rest` is what `st.number_input` takes as well.
    """
    # What the browser puts into a field that was emptied; without it, the least number.
    shown = type(low)(min(max(low, st.session_state[key]), high))
    return st.number_input(label, low, high, shown, key=key, **rest)
