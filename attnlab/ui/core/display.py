"""Paths of the pages; height, colours and type size of their charts.

Charts take the theme's colours at the next rerun: Streamlit runs no script when the theme changes.
"""

from pathlib import Path

import streamlit as st

PAGES = Path(__file__).parents[3] / "pages"
TRAIN_PAGE, INSPECT_PAGE = PAGES / "train.py", PAGES / "inspect.py"

CHART_HEIGHT = 350
# With these heights the Train page fits a screen of 1280 × 720, with cells of 24 pixels for three
# heads on ten days.
LOSS_HEIGHT, INSIDE_HEIGHT = 128, 330


def on_dark() -> bool:
    """Return whether the page uses the dark theme."""
    return st.context.theme.type == "dark"


_LARGE_TYPE = "large_type"


def has_large_type() -> bool:
    """Return whether the user switched on large type in charts, as for a projector."""
    return st.session_state.get(_LARGE_TYPE, False)


def draw_type_switch() -> None:
    """Draw the switch for large type in charts, at the foot of every page."""
    st.toggle(
        "Large type in charts",
        key=_LARGE_TYPE,
        persist_state="session",
        help="For a projector. The rest of the page grows with the browser's zoom.",
    )
