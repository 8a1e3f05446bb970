"""Saving the run to a file and loading one."""

import streamlit as st

from attnlab.limits import check_limits
from attnlab.live import LiveRun
from attnlab.options import OptionError
from attnlab.storage import RunFileError, from_bytes, to_bytes
from attnlab.ui.form_state import fill_form
from attnlab.ui.hosting import limits
from attnlab.ui.past import shelve_run


def draw_files(run: LiveRun) -> None:
    """A download of the run as it stands, and an upload that takes its place."""
    panel = st.expander("Save and load", key="files", on_change="rerun", icon=":material/save:")
    if not panel.open:
        return
    with panel:
        stored = run.stored()
        if stored is None:
            st.caption("There is nothing to save before the first Start.")
        else:
            step = int(stored.state.step)
            st.download_button(
                f"Save the run at step {step:,}",
                data=lambda: to_bytes(run.stored()),
                file_name=f"attnlab-{stored.experiment.generator.name}-{step}.run",
                mime="application/octet-stream",
                key="run_save",
                on_click="ignore",
                icon=":material/download:",
            )
        st.file_uploader(
            "Load a run",
            key="run_file",
            on_change=_load,
            args=(run,),
            help="A file that attnlab saved. It takes the place of the present run.",
        )
        if message := st.session_state.get("run_file_message"):
            st.error(message, icon=":material/error:")


def _load(run: LiveRun) -> None:
    file = st.session_state["run_file"]
    st.session_state["run_file_message"] = None
    if file is None:
        return
    try:
        stored = from_bytes(file.getvalue())
        check_limits(stored.experiment, limits())
    except (RunFileError, OptionError) as error:
        st.session_state["run_file_message"] = f"{file.name}: {error} Your present run is kept."
        return
    shelve_run(run)
    run.resume(stored)
    fill_form(stored.experiment)
