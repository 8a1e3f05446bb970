"""Whether the browser has heard of the controls and the address that the script set.

A click that was on its way when they were set brings along the values from before, which look
like a visitor's own change or the back button. So what is set is counted, and the count stands in
a field that nobody sees, which the browser sends along with every click as it last heard it.
"""

import streamlit as st

_FIELD, _COUNT = "receipt", "receipts_asked"


def ask_for_receipt() -> None:
    """After controls or the address were set: until the browser has heard, it is behind."""
    st.session_state[_COUNT] = st.session_state.get(_COUNT, 0) + 1


def is_behind() -> bool:
    """Whether this request was sent before the browser had heard of all that was set."""
    return st.session_state.get(_FIELD, _count()) != _count()


def draw_receipt() -> None:
    """The field. Once in every script that draws a whole page, behind all that asks `is_behind`."""
    # Every time, since what was drawn last may never have reached the browser.
    st.session_state[_FIELD] = _count()
    with st.container(key="unseen"):
        st.text_input("receipt", key=_FIELD)


def _count() -> str:
    return str(st.session_state.get(_COUNT, 0))
