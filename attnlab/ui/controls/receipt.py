"""Whether the browser has heard of the controls and the address that the script set.

A click that was on its way when they were set brings along the values from before, which look
like a visitor's own change or the back button. So what is set is counted, and the count stands in
a field that nobody sees, which the browser sends along with every click as it last heard it.
"""

import streamlit as st

_FIELD, _COUNT = "receipt", "receipts_asked"


def ask_for_receipt() -> int:
    """After controls or the address were set; the count until which the browser is behind."""
    st.session_state[_COUNT] = _count() + 1
    return _count()


def is_behind(count: int | None = None) -> bool:
    """Whether this request was sent before the browser had heard of that count, or of the last."""
    count = _count() if count is None else count
    text = st.session_state.get(_FIELD, str(count))
    return text.isdecimal() and int(text) < count


def draw_receipt() -> None:
    """The field. Once in every script that draws a whole page, behind all that asks `is_behind`."""
    # Every time, since what was drawn last may never have reached the browser.
    st.session_state[_FIELD] = str(_count())
    with st.container(key="unseen"):
        st.text_input("receipt", key=_FIELD, max_chars=9)


def _count() -> int:
    return st.session_state.get(_COUNT, 0)
