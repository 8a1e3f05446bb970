"""What can be done with the ticked runs: open, delete and bring back."""

from collections.abc import Callable

import streamlit as st

from attnlab.live.live_run import LiveRun
from attnlab.runs.library import BIN_DAYS, Entry, Library, LibraryError, Query
from attnlab.ui.controls.link_bar import go_to
from attnlab.ui.core.outside import as_text, draw_toast
from attnlab.ui.core.shell import INSPECT_PAGE, TRAIN_PAGE
from attnlab.ui.library.entry_texts import name_of
from attnlab.ui.library.opening import load_settings, open_run
from attnlab.ui.library.ticks import set_ticked, ticked

_DELETED, _GO_TO = "library_deleted", "library_go_to"


def follow_opening() -> None:
    """Go to the page on which a run was just opened."""
    page = st.session_state.pop(_GO_TO, None)
    if page is not None:
        go_to(page)


def draw_actions(run: LiveRun, library: Library, chosen: tuple[Entry, ...]) -> None:
    """Buttons for the ticked runs."""
    one = chosen[0] if len(chosen) == 1 else None
    with st.container(horizontal=True, vertical_alignment="center", key="library_actions"):
        st.markdown(_told(chosen), width="content")
        if one is not None and one.has_model:
            for label, icon, page in (
                ("Open in Train", "model_training", TRAIN_PAGE),
                ("Open in Inspect", "search", INSPECT_PAGE),
            ):
                st.button(
                    label,
                    key=f"library_open_{page.stem}",
                    icon=f":material/{icon}:",
                    on_click=_open,
                    args=(run, library, one.number, page),
                )
        if one is not None:
            st.button(
                "Load its settings" if one.has_model else "Train again with these settings",
                key="library_settings",
                icon=":material/tune:",
                on_click=_load_settings,
                args=(one,),
            )
        st.button(
            "Delete",
            key="library_delete",
            icon=":material/delete:",
            on_click=attempt,
            args=(_delete, library, tuple(entry.number for entry in chosen)),
        )
        st.button("Untick", key="library_untick", icon=":material/close:",
                  on_click=set_ticked, args=((),))  # fmt: skip
    if one is not None and not one.has_model:
        st.caption(
            "Only the figures and curves of this run were kept, not its model; the same settings "
            "and seed train the same one again."
        )


def draw_undo(library: Library) -> None:
    """After a deletion: that it can be undone."""
    numbers: tuple[int, ...] = st.session_state.get(_DELETED, ())
    if not numbers:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="library_deleted_line"):
        many = "1 run is" if len(numbers) == 1 else f"{len(numbers)} runs are"
        st.markdown(f"{many} in the bin, for {BIN_DAYS} days.", width="content")
        st.button(
            "Undo",
            key="library_undo",
            icon=":material/undo:",
            on_click=attempt,
            args=(_restore, library, numbers),
        )


def draw_bin_actions(library: Library, chosen: tuple[Entry, ...]) -> None:
    """Restore the ticked runs of the bin, and empty it."""
    count = library.count(Query(deleted=True))
    with st.container(horizontal=True, vertical_alignment="center", key="library_bin_actions"):
        st.button(
            f"Restore {len(chosen)}" if chosen else "Restore the ticked",
            key="library_restore",
            icon=":material/restore_from_trash:",
            disabled=not chosen,
            on_click=attempt,
            args=(_restore, library, tuple(entry.number for entry in chosen)),
        )
        with st.popover(
            "Empty the bin",
            icon=":material/delete_forever:",
            key="library_empty",
            disabled=not count,
        ):
            many = "1 run" if count == 1 else f"All {count:,} runs in the bin"
            st.markdown(f"{many}: deleted for good, whatever is filtered above.")
            st.button(
                "Delete for good",
                key="library_empty_sure",
                type="primary",
                on_click=attempt,
                args=(_empty_bin, library),
            )


def attempt(change: Callable[..., None], *arguments: object) -> bool:
    """Change the library, or tell why it could not be; whether it could. For callbacks."""
    try:
        change(*arguments)
    except (LibraryError, ValueError) as error:
        draw_toast(str(error))
        return False
    return True


def _told(chosen: tuple[Entry, ...]) -> str:
    if len(chosen) > 1:
        return f"**{len(chosen)} ticked**"
    return f"**{as_text(name_of(chosen[0]))}**"


def _open(run: LiveRun, library: Library, number: int, page: object) -> None:
    if open_run(run, library, number):
        st.session_state[_GO_TO] = page


def _load_settings(entry: Entry) -> None:
    if load_settings(entry):
        st.session_state[_GO_TO] = TRAIN_PAGE


def _delete(library: Library, numbers: tuple[int, ...]) -> None:
    library.delete(numbers)
    st.session_state[_DELETED] = numbers
    set_ticked([number for number in ticked() if number not in numbers])


def _empty_bin(library: Library) -> None:
    library.empty_bin()
    st.session_state.pop(_DELETED, None)
    set_ticked(())


def _restore(library: Library, numbers: tuple[int, ...]) -> None:
    library.restore(numbers)
    st.session_state.pop(_DELETED, None)
    set_ticked(())
