"""The frame of every page: page configuration and navigation."""

from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any

import streamlit as st

from attnlab.ui.compare import choice as compared
from attnlab.ui.controls.address import (
    complete_address,
    draw_notices,
    draw_unknown,
    follow_address,
)
from attnlab.ui.controls.form_state import keep_form
from attnlab.ui.controls.lesson_controls import draw_lesson
from attnlab.ui.core.display import (
    COMPARE_PAGE,
    KNOWN_PAGE,
    LOOK_INSIDE_PAGE,
    PAGES,
    TRAIN_PAGE,
    draw_foot,
)
from attnlab.ui.core.figures import begin_figures, end_figures
from attnlab.ui.core.fragments import delivered
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.server import environment_problem
from attnlab.ui.core.session import session, watch_session
from attnlab.ui.generators import sections
from attnlab.ui.lessons import encoding_panel, softmax_panel
from attnlab.ui.sequence_to_sequence import hands
from attnlab.ui.train import tabs

_STYLE, _LOGO = (Path(__file__).with_name(name) for name in ("style.css", "logo.svg"))
# Per script thread: an earlier script of the same session may still be running.
_IN_SHELL = ContextVar("in_shell", default=False)

# In pixels. On a phone the sidebar is closed at first.
_SIDEBAR_WIDTH = 256

# By path of the page: further arguments of `follow_address`.
_OF_ADDRESS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "": {"own_parameters": hands.PARAMETERS},
        "sequence_to_sequence": {
            "own_parameters": hands.PARAMETERS,
            "first_preset": "cards-encoder-decoder",
        },
        "positional_encodings": {"first_values": encoding_panel.FIRST_VALUES},
        "softmax_scaling": {"first_values": softmax_panel.FIRST_VALUES},
        "look_inside": {"own_parameters": tabs.parameters(tabs.ATTENTION)},
        "inspect": {"own_parameters": tabs.parameters(tabs.ATTENTION)},
        "beliefs": {
            "own_parameters": tabs.parameters(tabs.BELIEFS),
            "first_preset": "mess3-belief",
        },
        "in_context": {
            "own_parameters": tabs.parameters(tabs.ALGORITHM),
            "first_preset": "induction",
        },
        "compare": {"own_parameters": compared.PARAMETERS},
        "generators": {"own_parameters": sections.PARAMETERS},
        "known_results": {"has_anchors": True},
        "words": {"has_anchors": True},
    }
)
# Addresses that links and documents still have, with the tab that each opens.
_FORMER = MappingProxyType(
    {
        "sequence_to_sequence": "",
        "inspect": tabs.ATTENTION,
        "beliefs": tabs.BELIEFS,
        "in_context": tabs.ALGORITHM,
        "a_published_question": "",
    }
)
# Below 768 pixels Streamlit draws the sidebar over the page.
_CLOSE_SIDEBAR = """<script>
/* %s */
if (window.innerWidth < 768)
    document.querySelector('[data-testid=stSidebarCollapseButton] button')?.click()
</script>"""


def run_shell() -> None:
    """Set up the page, draw the navigation and run the chosen page. Only `app.py` calls it."""
    with delivered():
        watch_session()
        _configure()
        page, is_lesson = _navigation()
        if problem := environment_problem():
            draw_error(problem)
            return
        is_new = session().page not in (None, page.url_path)
        if is_new:
            keep_form()
            if tab := _FORMER.get(page.url_path, ""):
                st.session_state[tabs.VIEW] = tab
        of_page = _OF_ADDRESS.get(page.url_path, {})
        others, above = follow_address(has_own_settings=is_lesson, **of_page), st.container()
        with above:
            draw_notices()
        session().charts = {}
        draw_lesson()
        _close_sidebar_of_phones(page.url_path, is_new=is_new)
        session().page = page.url_path
        before = begin_figures()
        token = _IN_SHELL.set(True)
        try:
            page.run()
        finally:
            _IN_SHELL.reset(token)
        with above:
            draw_unknown(others)
        end_figures(before)
        draw_foot(page.url_path)
        complete_address(page.url_path)


def _close_sidebar_of_phones(page: str, *, is_new: bool) -> None:
    """Close the sidebar when a new page is chosen: on a phone it covers the page."""
    with st.container(key="unseen_sidebar"):
        if is_new:
            st.html(_CLOSE_SIDEBAR % page, unsafe_allow_javascript=True)


def ensure_shell() -> None:
    """Restart a page that was started without the shell. Every page calls it first.

    This happens on the first request: until `st.navigation` has been called once, Streamlit runs
    the linked file of `pages/` directly.
    """
    if not _IN_SHELL.get():
        _configure()
        _navigation()
        st.rerun()


def _configure() -> None:
    # Without a page icon Streamlit uses the icon of the navigation entry, which browsers would
    # load from the internet.
    st.set_page_config(
        page_title="attnlab", page_icon="🔬", layout="wide", initial_sidebar_state=_SIDEBAR_WIDTH
    )
    st.logo(_LOGO)
    st.html(_STYLE)


# File, title and icon of every page, by group. Without icons the first group fits in one line.
GROUPS = MappingProxyType(
    {
        "": (
            (TRAIN_PAGE, "Train", ""),
            (LOOK_INSIDE_PAGE, "Look inside", ""),
            ("generators.py", "Processes", ""),
            (COMPARE_PAGE, "Compare", ""),
            (KNOWN_PAGE, "Known results", ""),
            ("library.py", "Library", ""),
        ),
        "Lessons": (
            ("step_by_step.py", "Step by step", "steps"),
            ("positional_encodings.py", "Positional encodings", "waves"),
            ("softmax_scaling.py", "Softmax scaling", "tune"),
            ("kernel_regression.py", "Kernel regression", "show_chart"),
            ("the_bottleneck.py", "The bottleneck", "filter_alt"),
            ("which_explanation.py", "Which explanation is right?", "balance"),
            ("what_attention_costs.py", "What attention costs", "timer"),
            ("words.py", "Glossary", "menu_book"),
        ),
    }
)


def _navigation():
    """Return the chosen page and whether it is a lesson."""
    groups = {
        group: [
            st.Page(
                PAGES / file,
                title=title,
                icon=f":material/{icon}:" if icon else None,
                default=file == TRAIN_PAGE,
            )
            for file, title, icon in pages
        ]
        for group, pages in GROUPS.items()
    }
    groups[""] += [
        st.Page(PAGES / f"{name}.py", title="attnlab", visibility="hidden") for name in _FORMER
    ]
    # On a phone the links are in the sidebar, which would otherwise show only the first dozen.
    page = st.navigation(groups, position="top", expanded=True)
    return page, page in groups["Lessons"]
