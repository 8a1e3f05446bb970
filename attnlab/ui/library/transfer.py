"""Where the library is, its damaged runs, and export and import of runs."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnlab.configuration.options import quoted
from attnlab.runs.library import ArchiveError, Library, LibraryError, Query, TakenIn
from attnlab.runs.run_summary import summary_of
from attnlab.runs.storage import RunFileError, from_bytes, is_run_file
from attnlab.ui.controls.uploads import Message, draw_upload, take_upload
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.outside import as_message, as_text, draw_error, draw_toast
from attnlab.ui.core.server import hosted
from attnlab.ui.core.session_library import SessionLibrary, session_keeper, try_again

_MOST_PROBLEMS, _MOST_REFUSALS = 5, 5
_UPLOAD = "library_upload"
# An export with models is built in memory, so its size is limited.
_MOST_BYTES_WITH_MODELS = 500_000_000


@contextmanager
def library_errors_shown() -> Iterator[None]:
    """Context manager that shows an error of the library and skips the rest of its block."""
    try:
        yield
    except LibraryError as error:
        draw_error(str(error))


def draw_place(place: SessionLibrary) -> None:
    """Draw the library's number of runs, its size, its location, and how long runs are kept."""
    count, size = place.library.count(), place.library.size()
    in_bin = f"{place.library.count(Query(deleted=True)):,} in the bin"
    big = f"{size / 1e6:,.1f} MB" if size < 1e9 else f"{size / 1e9:,.1f} GB"
    line = f"{'1 run' if count == 1 else f'{count:,} runs'} · {in_bin} · {big}"
    if place.folder is not None:
        where = f"in `{place.folder}`. Paused and finished runs are kept, each only once."
    elif hosted():
        where = (
            "in memory. This server keeps finished runs until you close or reload the page. "
            "Use Export to download them and Import to restore them."
        )
    else:
        where = (
            "in memory. Runs are kept only until the session ends; they are not saved on this "
            "machine."
        )
    st.caption(as_message(f"{line}, {where}"))


def draw_save_problem(place: SessionLibrary) -> None:
    """Draw why runs are not saved, if they are not."""
    if place.problem:
        with st.container(horizontal=True, vertical_alignment="center", key="library_problem"):
            st.caption(f":material/report: {as_message(place.problem)}", width="content")
            draw_button("Try again", "library_try_again", None, try_again)
    elif problem := session_keeper().problem:
        st.caption(f":material/report: A run was not saved. {as_message(problem)}")


def draw_damaged(library: Library) -> None:
    """Draw the problems of runs that cannot be read, and a button that deletes these runs."""
    problems = library.problems()
    if not problems:
        return

    def delete() -> None:
        try:
            library.delete([problem.number for problem in problems])
        except LibraryError as error:
            draw_toast(str(error))

    with st.container(horizontal=True, vertical_alignment="center", key="library_damaged"):
        texts = " ".join(as_text(problem.text) for problem in problems[:_MOST_PROBLEMS])
        more = len(problems) - _MOST_PROBLEMS
        rest = f" {more:,} more runs have the same problem." if more > 0 else ""
        st.caption(f":material/report: {texts}{rest}")
        draw_button("Delete damaged runs", "library_delete_damaged", None, delete)


@panel("Export and import", key="library_travel", icon="sync_alt")
def draw_transfer(library: Library, query: Query, numbers: tuple[int, ...]) -> None:
    """Draw buttons that export the runs of these numbers or all that match, and an import field."""
    count, fits = library.count(query), library.size() <= _MOST_BYTES_WITH_MODELS
    models = st.toggle(
        "with their models",
        fits,
        key="library_with_models",
        disabled=not fits,
        help="Without them the file has only results and curves, and is far smaller.",
    )
    selected = f"Export {len(numbers):,} selected" if numbers else "Export selected"
    with st.container(horizontal=True, gap="small"):
        for label, key, runs, is_empty in (
            (selected, "ticked", lambda: numbers, not numbers),
            (f"Export all matching ({count:,})", "all", lambda: library.numbers(query), not count),
        ):
            st.download_button(
                label,
                data=lambda runs=runs: library.export(runs(), models=models),
                file_name="attnlab.runs",
                mime="application/octet-stream",
                key=f"library_export_{key}",
                on_click="ignore",
                disabled=is_empty,
                icon=":material/download:",
            )
    st.caption(
        "One file, with names, tags and notes. This page imports files of up to "
        f"{st.get_option('server.maxUploadSize')} MB; `python -m attnlab runs import` has no "
        "limit."
    )
    draw_upload(
        "Import runs",
        key=_UPLOAD,
        help="A file that a library exported, or a saved run. Runs that are already in this "
        "library are skipped. A saved run is added each time.",
    )


def follow_upload(library: Library) -> None:
    """Import a file that was uploaded. Call it before the table is drawn."""

    def take(file: UploadedFile | None) -> Message:
        if file is None:
            return None
        # The message names its file: it stays if the browser rejects the next file as too large.
        name = quoted(file.name)
        try:
            return functools.partial(_draw_taken, name, take_in_file(library, file.getvalue()))
        except (ArchiveError, RunFileError, LibraryError) as error:
            return functools.partial(draw_error, f"{name}: {error} Nothing was added.")

    take_upload(_UPLOAD, take)


def take_in_file(library: Library, data: bytes) -> TakenIn:
    """Import a file that a library exported, or the file of a single run."""
    if not is_run_file(data):
        return library.take_in(data)
    run = from_bytes(data)
    step = int(run.state.step)
    state = "done" if step == run.experiment.training.steps else "interrupted"
    result = summary_of(run, state, dict(run.history.tests).get(step), 0.0)
    return TakenIn((library.keep(result),), 0, ())


def _draw_taken(name: str, taken: TakenIn) -> None:
    added = len(taken.added)
    parts = [f"{added:,} run{'s' * (added != 1)} added"]
    if taken.known:
        parts.append(f"{taken.known:,} already here and skipped")
    parts += taken.left_out
    lines = [as_message(line) for line in taken.refused[:_MOST_REFUSALS]]
    if (more := len(taken.refused) - _MOST_REFUSALS) > 0:
        lines.append(f"and {more:,} more")
    text = "\n- ".join([f"{as_message(name)}: {', '.join(parts)}.", *lines])
    st.info(text, icon=":material/upload:")
