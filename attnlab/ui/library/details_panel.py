"""The words by which a ticked run is known, and what its row leaves out."""

import streamlit as st

from attnlab.runs.library import Entry, Library
from attnlab.ui.core.outside import as_text
from attnlab.ui.library.actions_panel import attempt

# As long as a library takes them.
_MOST_NAME, _MOST_NOTE, _MOST_TAGS = 200, 10_000, 20


def draw_details(library: Library, entry: Entry) -> None:
    """Name, tags and note of one run to edit, and where it comes from."""
    # A field keeps what is typed under its key; when the run has other words, it begins anew.
    part = f"{entry.number}_{hash((entry.name, entry.tags, entry.note))}"
    with st.container(horizontal=True, vertical_alignment="top", key="library_details"):
        _field(st.text_input, library, entry, "name", part, max_chars=_MOST_NAME, width=260)
        st.multiselect(
            "tags",
            sorted({*library.choices().tags, *entry.tags}),
            entry.tags,
            key=(key := f"library_tags_{part}"),
            accept_new_options=True,
            max_selections=_MOST_TAGS,
            placeholder="choose, or type a new one",
            width=320,
            on_change=_describe,
            args=(library, entry.number, "tags", key),
        )
        _field(st.text_area, library, entry, "note", part, max_chars=_MOST_NOTE, height=68)
    st.caption(_origin(entry))


def _field(control, library: Library, entry: Entry, name: str, part: str, **options) -> None:
    key = f"library_{name}_{part}"
    control(
        name,
        getattr(entry, name),
        key=key,
        on_change=_describe,
        args=(library, entry.number, name, key),
        **options,
    )


def _describe(library: Library, number: int, name: str, key: str) -> None:
    value = st.session_state[key]
    attempt(lambda: library.describe(number, **{name: value}))


def _origin(entry: Entry) -> str:
    result = entry.result
    parts = [f"run {entry.number}", f"{result.parameters:,} parameters"]
    if entry.changes:
        times = "once" if entry.changes == 1 else f"{entry.changes:,} times"
        parts.append(f"went on with other settings {times}, the last of which stand above")
    versions = zip(("attnlab", "JAX", "jaxlib", "on"), result.versions, strict=True)
    parts += [f"{name} {as_text(version)}" for name, version in versions if version]
    if result.reason:
        parts.append(f"{result.state}: {as_text(result.reason)}")
    return " · ".join(parts)
