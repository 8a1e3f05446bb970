"""Controls with values in the page's address, fields for numbers, and the last valid value."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from attnlab.configuration.options import quoted
from attnlab.ui.core.outside import draw_warning

_Value = TypeVar("_Value")
_Number = TypeVar("_Number", int, float)


def linked(
    control: Callable[..., _Value], label: str, *arguments: Any, key: str, **rest: Any
) -> _Value:
    """Draw `control(label, …)` with its value as the parameter `key` of the address.

    `control` is a method of Streamlit or of a container, such as `st.slider`; choices are texts,
    and the default is given to it, not set in the session. A value of the address that the
    control does not take leaves the default, with a warning until the control is changed.
    """
    text = st.query_params.get(key)
    # Streamlit drops a value that the control does not take. The address counts only for the first
    # draw: afterwards the session has the value.
    asked = None if key in st.session_state else text
    if text is not None and _is_no_value(text):
        # Bound to it, some controls would raise an error, and others be without any value.
        value = control(label, *arguments, key=key, **rest)
        st.query_params.pop(key, None)
    else:
        value = control(label, *arguments, key=key, bind="query-params", **rest)
    refused = f"{key}_refused"
    if asked is not None and not _says(asked, value):
        st.session_state[refused] = (asked, value)
    text, instead = st.session_state.get(refused, (None, None))
    if text is not None and value == instead:
        draw_warning(
            f"The address asks for `{key}` = {quoted(text)}, which is not possible here. "
            f"`{label}` stays at {value}.",
            icon=":material/link_off:",
        )
    else:
        st.session_state.pop(refused, None)
    return value


def number_field(label: str, low: _Number, high: _Number, *, key: str, **rest: Any) -> _Number:
    """Draw a field for the number that the session holds; emptied, it shows that number again.

    `rest` is what `st.number_input` takes as well.
    """
    # What the browser puts into a field that was emptied; without it, the least number.
    shown = type(low)(min(max(low, st.session_state[key]), high))
    return st.number_input(label, low, high, shown, key=key, **rest)


def or_last_good(value: _Value | None, otherwise: _Value, *, key: str) -> _Value:
    """Return the value; if it is None, the last one that was not, or `otherwise`."""
    if value is not None:
        st.session_state[key] = value
    return st.session_state.get(key, otherwise)


def _is_no_value(text: str) -> bool:
    """Return whether a text is empty, infinite or not a number: no control has such a value."""
    try:
        return not math.isfinite(float(text))
    except ValueError:
        return text == ""


def _says(text: str, value: Any) -> bool:
    if text.lower() == str(value).lower():
        return True
    try:
        return float(text) == value
    except ValueError:
        return False
