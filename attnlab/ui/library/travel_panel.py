"""Runs that leave the library as one file, and those of a file that come in."""

import functools
from collections.abc import Iterator

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnlab.configuration.options import quoted
from attnlab.runs.library import ArchiveError, Entry, Library, LibraryError, Query, TakenIn
from attnlab.runs.result import result_of
from attnlab.runs.run_file_header import RunFileError
from attnlab.runs.storage import from_bytes
from attnlab.ui.controls.uploads import Told, draw_upload, take_upload
from attnlab.ui.core.outside import as_message, draw_error

_UPLOAD = "library_upload"
_MOST_TOLD = 5
# All runs of a file are in memory while it is made.
_MOST_BYTES_WITH_MODELS = 500_000_000
_AT_ONCE = 500


def follow_upload(library: Library) -> None:
    """Take in what was uploaded. Before the table is drawn."""
    take_upload(_UPLOAD, functools.partial(_take_in, library))


def draw_travel(library: Library, query: Query, chosen: tuple[Entry, ...]) -> None:
    """Downloads of the ticked runs and of all that fit, and an upload."""
    panel = st.expander(
        "Export and import", key="library_travel", on_change="rerun", icon=":material/sync_alt:"
    )
    if not panel.open:
        return
    with panel:
        _draw_export(library, query, tuple(entry.number for entry in chosen))
        draw_upload(
            "Import runs",
            key=_UPLOAD,
            help="A file that a library exported, whose runs that are here already are left as "
            "they are, or a run that was saved, which is added each time.",
        )


def _draw_export(library: Library, query: Query, numbers: tuple[int, ...]) -> None:
    count, fits = library.count(query), library.size() <= _MOST_BYTES_WITH_MODELS
    models = st.toggle(
        "with their models",
        fits,
        key="library_with_models",
        disabled=not fits,
        help="Without them a file has the figures and curves alone, and is far smaller.",
    )
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            f"Export the {len(numbers):,} ticked" if numbers else "Export the ticked",
            data=lambda: library.export(numbers, models=models),
            file_name="attnlab.runs",
            mime="application/octet-stream",
            key="library_export_ticked",
            on_click="ignore",
            disabled=not numbers,
            icon=":material/download:",
        )
        st.download_button(
            f"Export all that fit ({count:,})",
            data=lambda: library.export(_numbers(library, query), models=models),
            file_name="attnlab.runs",
            mime="application/octet-stream",
            key="library_export_all",
            on_click="ignore",
            disabled=not count,
            icon=":material/download:",
        )
    st.caption(
        f"One file, with names, tags and notes. This page takes files of at most "
        f"{st.get_option('server.maxUploadSize')} MB; on a machine of your own "
        "`python -m attnlab runs import` takes any."
    )


def _numbers(library: Library, query: Query) -> Iterator[int]:
    for first in range(0, library.count(query), _AT_ONCE):
        yield from (e.number for e in library.entries(query, first=first, most=_AT_ONCE))


def _take_in(library: Library, file: UploadedFile | None) -> Told:
    if file is None:
        return None
    try:
        taken = _taken_in(library, file.getvalue())
    except (ArchiveError, RunFileError, LibraryError) as error:
        return functools.partial(draw_error, f"{quoted(file.name)}: {error} Nothing was added.")
    # A file that the browser refuses as too large is not told to the server: the name says which
    # file this is about.
    return functools.partial(_draw_taken, quoted(file.name), taken)


def _taken_in(library: Library, data: bytes) -> TakenIn:
    """The runs of a file of them, or the one of a run file."""
    try:
        return library.take_in(data)
    except ArchiveError:
        if not data.startswith(b"attnlab run "):
            raise
    run = from_bytes(data)
    tests = dict(run.history.tests)
    step = int(run.state.step)
    state = "done" if step == run.experiment.training.steps else "interrupted"
    result = result_of(run, state, tests.get(step), 0.0)
    return TakenIn((library.keep(result),), 0, ())


def _draw_taken(name: str, taken: TakenIn) -> None:
    added, known = len(taken.added), taken.known
    parts = [f"{added:,} run{'s' * (added != 1)} added"]
    if known:
        parts.append(f"{known:,} left as they were, being here already")
    if taken.refused:
        parts.append(f"{len(taken.refused):,} with a problem")
    told = "".join(f"\n- {as_message(line)}" for line in taken.refused[:_MOST_TOLD])
    more = len(taken.refused) - _MOST_TOLD
    st.info(
        f"{as_message(name)}: {', '.join(parts)}.{told}"
        + (f"\n- and {more:,} more" if more > 0 else ""),
        icon=":material/upload:",
    )
