"""Controls whose values stand in the page's address, so that a copied address shows the same."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from attnlab.configuration.options import quoted
from attnlab.ui.core.outside import draw_warning

_Value = TypeVar("_Value")


def linked(
    control: Callable[..., _Value], label: str, *arguments: Any, key: str, **rest: Any
) -> _Value:
    """Draw `control(label, …)` with its value as the parameter `key` of the address.

    `control` is a method of Streamlit or of a container, such as `st.slider`; choices are texts,
    and the default is given to it, not set in the session. A value of the address that the
    control does not take leaves the default, and says so below the control until it is changed.
    """
    text = st.query_params.get(key)
    # Streamlit drops such a value without a word. The address counts for the first draw alone:
    # afterwards the session knows better.
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
        draw_refused(key, text, f"`{label}` stays at {value}")
    else:
        st.session_state.pop(refused, None)
    return value


def draw_refused(key: str, text: str, instead: str) -> None:
    """Say that the address holds a value that cannot be had, and what is shown `instead`."""
    draw_warning(
        f"The address asks for `{key}` = {quoted(text)}, which is not possible here. {instead}.",
        icon=":material/link_off:",
    )


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
