"""What charts need to know of the page they stand on."""

import streamlit as st

# With this height the Train page fits a screen of 1400 × 900.
CHART_HEIGHT = 350


def on_dark() -> bool:
    """Whether the page's ground is dark."""
    return st.context.theme.type == "dark"
