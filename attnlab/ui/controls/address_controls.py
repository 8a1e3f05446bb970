"""Controls whose values are in the page's address, and number fields."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from attnlab.configuration.options import quoted
from attnlab.ui.core.outside import draw_warning

_Value = TypeVar("_Value")
_Number = TypeVar("_Number", int, float)


def linked(control: Callable[..., Any], label: str, *arguments: Any, key: str, **rest: Any) -> Any:
    """Draw `control(label, …)` with its value as parameter `key` of the address.

    `control` is a method of Streamlit or of a container, such as `st.slider`. Its choices are
    texts, and its default is an argument, not set in the session. If the control rejects the value
    in the address, it keeps its default, with a warning until the user changes it.
    """
    text = st.query_params.get(key)
    # Streamlit drops values that the control does not accept. The address sets the value only at
    # the first draw; afterwards the session does.
    requested = None if key in st.session_state else text
    if text is not None and _is_no_value(text):
        # Bound to such a value, some controls would raise an error, and others would have no value.
        value = control(label, *arguments, key=key, **rest)
        st.query_params.pop(key, None)
    else:
        value = control(label, *arguments, key=key, bind="query-params", **rest)
    refused = f"{key}_refused"
    if requested is not None and not _says(requested, value):
        st.session_state[refused] = (requested, value)
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
    """Draw a number field; if the user empties it, it returns to the number in the session."""
    # The browser gives an emptied field this value, which by default would be the minimum.
    shown = type(low)(min(max(low, st.session_state[key]), high))
    field: Any = st.number_input
    return field(label, low, high, shown, key=key, **rest)


def or_last_good(value: _Value | None, otherwise: _Value, *, key: str) -> _Value:
    """Return the value and remember it; if it is None, return the last one, or `otherwise`."""
    if value is not None:
        st.session_state[key] = value
    return st.session_state.get(key, otherwise)


def _is_no_value(text: str) -> bool:
    """Return whether a text is empty, infinite or NaN, and so cannot be the value of a control."""
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
