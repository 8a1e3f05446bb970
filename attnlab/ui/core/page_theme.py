"""What charts need to know of the page they stand on, and the switch of their type."""

import streamlit as st

# With this height the Train page fits a screen of 1400 × 900.
CHART_HEIGHT = 350


def on_dark() -> bool:
    """Whether the page's ground is dark."""
    return st.context.theme.type == "dark"


_LARGE_TYPE = "large_type"


def has_large_type() -> bool:
    """Whether the charts are to be read from the back of a room."""
    return st.session_state.get(_LARGE_TYPE, False)


def draw_type_switch() -> None:
    """The switch at the foot of every page."""
    st.toggle(
        "Large type in charts",
        key=_LARGE_TYPE,
        persist_state="session",
        help="For a projector. The rest of the page grows with the browser's zoom.",
    )
