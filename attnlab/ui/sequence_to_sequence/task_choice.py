"""What to do where the controls describe a process without a source."""

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.generators import AbstractTask
from attnlab.training.presets import PRESETS
from attnlab.ui.controls.form_state import fill_form, read_form
from attnlab.ui.core.outside import as_text


def draw_task_choice() -> None:
    """The named experiments that write a target, where the controls describe none."""
    form = read_form()
    if not isinstance(form, OptionError) and isinstance(form.generator, AbstractTask):
        return
    named = {n: p for n, p in PRESETS.items() if isinstance(p.experiment.generator, AbstractTask)}
    with st.container(border=True, key="task_choice"):
        st.markdown(
            "**The controls describe no task.** Here a source is read and a target is written of "
            "it. Choose one of these, or one of the tasks under **process**; the run at hand stays "
            "until you press Start."
        )
        for name, preset in named.items():
            with st.container(horizontal=True, vertical_alignment="center"):
                st.button(
                    name,
                    key=f"task_{name}",
                    on_click=fill_form,
                    args=(preset.experiment,),
                    kwargs={"preset": name},
                )
                st.caption(as_text(preset.description), width="stretch")
