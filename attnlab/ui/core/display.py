"""Paths of the pages; height, colours and type size of their charts; buttons, numbers.

Charts take the theme's colours at the next rerun: Streamlit runs no script when the theme changes.
"""

from collections.abc import Callable
from typing import Any

import streamlit as st

from attnlab.configuration.environment import app_folder

PAGES = app_folder() / "pages"
TRAIN_PAGE, LOOK_INSIDE_PAGE = PAGES / "train.py", PAGES / "look_inside.py"
COMPARE_PAGE, KNOWN_PAGE = PAGES / "compare.py", PAGES / "known_results.py"

CHART_HEIGHT = 350
# Heights in pixels of exported charts; on the Train page `style.css` sets them.
LOSS_HEIGHT, INSIDE_HEIGHT = 220, 330


def on_dark() -> bool:
    """Return whether the page uses the dark theme."""
    return st.context.theme.type == "dark"


_LARGE_TYPE = "large_type"


def has_large_type() -> bool:
    """Return whether the user switched on large type in charts, as for a projector."""
    return st.session_state.get(_LARGE_TYPE, False)


def use_large_type() -> None:
    """Switch on large type in charts. Call it before the page's foot is drawn."""
    st.session_state[_LARGE_TYPE] = True


def draw_foot(page: str) -> None:
    """Draw the foot of a page: the switch for large type in charts, and a link to the Glossary."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.toggle(
            "Large type in charts",
            key=_LARGE_TYPE,
            persist_state="session",
            help="Enlarges the charts' text. To enlarge the whole page, use the browser's zoom.",
        )
        if page != "words":
            st.page_link(PAGES / "words.py", label="Glossary", icon=":material/menu_book:")


def draw_metric(label: str, value: str, explanation: str | None = None) -> None:
    """Draw a number with its label, no wider than both, and an explanation as a tooltip."""
    st.metric(label, value, width="content", help=explanation)


def draw_button(
    label: str,
    key: str,
    icon: str | None = None,
    call: Callable[..., Any] | None = None,
    *arguments: Any,
    **options: Any,
) -> bool:
    """Draw a button; return whether it was just pressed.

    Args:
        label: The text on the button.
        key: The key of the button.
        icon: The name of a Material icon, if the button has one.
        call: Called with the `arguments` before the next rerun, if the button was pressed.
        arguments: Arguments of `call`.
        options: Other options of `st.button`.
    """
    drawn = None if icon is None else f":material/{icon}:"
    return st.button(label, key=key, icon=drawn, on_click=call, args=arguments, **options)


def draw_download(
    label: str,
    file_name: str,
    mime: str,
    make: Callable[[], str | bytes],
    *,
    key: str,
) -> None:
    """Draw the button of a file, which `make` creates when the button is pressed."""
    st.download_button(
        label,
        data=make,
        file_name=file_name,
        mime=mime,
        key=key,
        on_click="ignore",
        icon=":material/download:",
    )
