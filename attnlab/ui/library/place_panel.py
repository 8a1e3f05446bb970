"""Where the library is, what it takes, and what is wrong with it."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from attnlab.runs.library import Library, LibraryError, Query
from attnlab.ui.core.hosting import hosted
from attnlab.ui.core.outside import as_message, as_text, draw_error
from attnlab.ui.core.session_run import session_keeper
from attnlab.ui.library.actions_panel import attempt
from attnlab.ui.library.filters_panel import clear_filters
from attnlab.ui.library.session_library import SessionLibrary, try_again

_MOST_PROBLEMS = 5


def draw_place(place: SessionLibrary) -> None:
    """What the library holds, how much it takes, and how long it stays."""
    library = place.library
    count = library.count()
    parts = ["1 run" if count == 1 else f"{count:,} runs"]
    parts.append(f"{library.count(Query(deleted=True)):,} in the bin")
    told = " · ".join([*parts, size_in_words(library.size())])
    if place.folder is not None:
        where = f"in `{place.folder}`. Every run that is paused or done is kept."
    elif hosted():
        where = (
            "in memory. This server keeps finished runs until you close or reload the page. "
            "Use Export to download them and Import to restore them."
        )
    else:
        where = "in memory, until the session ends: the library of this machine is not used."
    st.caption(as_message(f"{told}, {where}"))
    if place.problem:
        with st.container(horizontal=True, vertical_alignment="center", key="library_problem"):
            st.caption(f":material/report: {as_message(place.problem)}", width="content")
            st.button("Try again", key="library_try_again", on_click=try_again)
    elif problem := session_keeper().problem:
        st.caption(f":material/report: A run was not kept. {as_message(problem)}")


def draw_nothing(place: SessionLibrary, *, in_bin: bool) -> None:
    """In the place of a table without rows: what to do."""
    if place.library.count(Query(deleted=in_bin)):
        st.info("No run fits.", icon=":material/filter_alt:")
        st.button("Show all", key="library_clear", on_click=clear_filters)
    elif in_bin:
        st.info("The bin is empty.", icon=":material/delete:")
    else:
        words = "done" if hosted() else "paused or done"
        st.info(
            f"There are no runs yet. Press Start on the Train page: a run that is {words} comes "
            "here by itself. Runs from another library can be brought in below.",
            icon=":material/inventory_2:",
        )


def draw_damaged(library: Library) -> None:
    """Runs that were met and cannot be read, in a quiet line."""
    problems = library.problems()
    if not problems:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="library_damaged"):
        told = " ".join(as_text(problem.text) for problem in problems[:_MOST_PROBLEMS])
        more = len(problems) - _MOST_PROBLEMS
        st.caption(f":material/report: {told}" + (f" So it is with {more:,} more." * (more > 0)))
        st.button(
            "Delete the damaged",
            key="library_delete_damaged",
            on_click=attempt,
            args=(library.delete, [problem.number for problem in problems]),
        )


@contextmanager
def told_calmly() -> Iterator[None]:
    """What a library cannot do inside is said in the place of the rest."""
    try:
        yield
    except LibraryError as error:
        draw_error(str(error))


def size_in_words(size: int) -> str:
    """Bytes, as people say them."""
    return f"{size / 1e6:,.1f} MB" if size < 1e9 else f"{size / 1e9:,.1f} GB"
