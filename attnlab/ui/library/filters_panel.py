"""Which runs of the library are listed, and in which order."""

import streamlit as st

from attnlab.runs.library import SORTS, Choices, Query
from attnlab.runs.result import STATES
from attnlab.ui.library.ticks import set_ticked

_ANY = ""
_VIEWS = {False: "Runs", True: "Bin"}
_PAGE = "library_page"


def draw_filters(choices: Choices) -> Query:
    """The fields; what they ask for."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="filters"):
        text = st.text_input(
            "search",
            key="library_text",
            persist_state="session",
            max_chars=200,
            placeholder="name, note, tag, reason …",
            width=220,
            on_change=_first_page,
        )
        generator = _choice("process", "generator", choices.generators)
        model = _choice("model", "model", choices.models)
        tag = _choice("tag", "tag", choices.tags)
        state = _choice("state", "state", tuple(STATES))
        sort = st.selectbox(
            "sorted by",
            list(SORTS),
            key="library_sort",
            persist_state="session",
            width=140,
            on_change=_first_page,
        )
        descending = st.toggle(
            "descending",
            True,
            key="library_descending",
            persist_state="session",
            on_change=_first_page,
        )
        deleted = st.segmented_control(
            "view",
            list(_VIEWS),
            default=False,
            required=True,
            format_func=_VIEWS.get,
            key="library_view",
            persist_state="session",
            label_visibility="collapsed",
            on_change=_other_view,
        )
    return Query(
        text=text,
        generator=generator,
        model=model,
        tag=tag,
        state=state,
        deleted=deleted,
        sort=sort,
        descending=descending,
    )


def clear_filters() -> None:
    """List all runs again. For callbacks."""
    for name in ("text", "generator", "model", "tag", "state"):
        st.session_state[f"library_{name}"] = _ANY
    _first_page()


def draw_page_choice(pages: int) -> int:
    """The buttons that turn pages; the chosen one, from 0."""
    if pages <= 1:
        return 0
    # There were more of them before.
    st.session_state[_PAGE] = min(pages, st.session_state.get(_PAGE, 1))
    return st.pagination(pages, key=_PAGE, persist_state="session", max_visible_pages=5) - 1


def _choice(label: str, name: str, values: tuple[str, ...]) -> str:
    key = f"library_{name}"
    # One that is gone since it was chosen.
    if st.session_state.get(key, _ANY) not in (_ANY, *values):
        st.session_state[key] = _ANY
    return st.selectbox(
        label,
        [_ANY, *values],
        key=key,
        persist_state="session",
        format_func=lambda value: value or "any",
        width=140,
        on_change=_first_page,
    )


def _first_page() -> None:
    st.session_state[_PAGE] = 1


def _other_view() -> None:
    _first_page()
    set_ticked(())
