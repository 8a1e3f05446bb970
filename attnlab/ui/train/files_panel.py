"""Taking a run away, as files of several kinds, and loading one."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnlab.configuration.options import OptionError, quoted
from attnlab.live.live_run import LiveRun
from attnlab.runs.history import to_csv
from attnlab.runs.script import to_script
from attnlab.runs.storage import RunFileError, from_bytes, to_bytes
from attnlab.training.limits import check_limits
from attnlab.ui.controls.form_state import fill_form
from attnlab.ui.controls.uploads import Told, draw_upload, take_upload
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.hosting import limits
from attnlab.ui.core.outside import draw_error
from attnlab.ui.train.session_past_runs import shelve_run

_UPLOAD = "run_file"


def follow_run_file(run: LiveRun) -> None:
    """Put the run of a file that was uploaded in the place of `run`. Before a control is drawn."""
    take_upload(_UPLOAD, functools.partial(_load, run))


def draw_files(run: LiveRun) -> None:
    """Downloads of the run as it stands, and an upload that takes its place."""
    panel = st.expander(
        "Save, load, export", key="files", on_change="rerun", icon=":material/save:"
    )
    if not panel.open:
        return
    with panel:
        # Nothing else draws this panel again when the first figures come.
        draw_while(lambda: run.snapshot().preparing, lambda: _draw_downloads(run), key="take_away")
        draw_upload(
            "Load a run",
            key=_UPLOAD,
            help="A file that attnlab saved. It takes the place of the present run.",
        )


class _Download(NamedTuple):
    """A file to download: its button, and what makes it."""

    key: str
    label: str
    ending: str
    mime: str
    make: Callable[[], str | bytes]


def _draw_downloads(run: LiveRun) -> None:
    """A button for every file, which is made when clicked, of the run as it then stands."""
    if run.snapshot().latest is None:
        st.caption("There is nothing to export before the first Start.")
        return
    experiment = run.experiment
    parts = experiment.generator.name, experiment.model.name, f"seed{experiment.seed}"
    name = "-".join(("attnlab", *parts))
    with st.container(horizontal=True, gap="small"):
        for download in _downloads(run):
            st.download_button(
                download.label,
                data=download.make,
                file_name=f"{name}{download.ending}",
                mime=download.mime,
                key=download.key,
                on_click="ignore",
                icon=":material/download:",
            )
    st.caption(
        "The run file holds everything and can be loaded again; the script repeats the run with "
        "attnlab alone and prints its figures; the CSV has a row for every step that was "
        "measured."
    )


def _downloads(run: LiveRun) -> tuple[_Download, ...]:
    return (
        _Download("run_save", "Run", ".run", "application/octet-stream",
                  lambda: to_bytes(run.stored())),
        _Download("take_csv", "Losses, CSV", "-loss.csv", "text/csv",
                  lambda: to_csv(run.snapshot().history)),
        _Download("take_script", "Script, Python", ".py", "text/x-python",
                  lambda: to_script(run.experiment, run.snapshot().history.changes)),
    )  # fmt: skip


def _load(run: LiveRun, file: UploadedFile | None) -> Told:
    if file is None:
        return None
    try:
        stored = from_bytes(file.getvalue())
        check_limits(stored.experiment, limits())
    except (RunFileError, OptionError) as error:
        told = f"{quoted(file.name)}: {error} Your present run is kept."
        return functools.partial(draw_error, told)
    # First, since it alone may be ended half-way, and done again.
    fill_form(stored.experiment)
    shelve_run(run)
    run.resume(stored)
    return None
