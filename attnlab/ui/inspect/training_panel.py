"""Inspect: what can be trained here, and how far it is."""

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.live.live_run import LiveRun
from attnlab.runs.differences import label_of_change
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import Experiment
from attnlab.ui.controls.form import draw_form_problem
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.outside import as_text, draw_error
from attnlab.ui.core.shell import TRAIN_PAGE
from attnlab.ui.train.cursor import NOW
from attnlab.ui.train.session_past_runs import shelve_run
from attnlab.ui.train.transport import draw_status


def draw_training(run: LiveRun, form: Experiment | OptionError, snapshot: Snapshot) -> None:
    """Buttons for the settings of the controls or the link, and for the present run.

    Nothing where the model shown is trained, at rest, and of those settings.
    """
    if snapshot.state == "failed":
        draw_error(snapshot.message)
    untrained = snapshot.step == 0 and not snapshot.active
    if isinstance(form, OptionError):
        if untrained:
            draw_form_problem(form)
            st.page_link(TRAIN_PAGE, label="Change them on the Train page", icon=":material/tune:")
        return
    differs = untrained or form != snapshot.experiment
    with st.container(horizontal=True, vertical_alignment="center", key="training"):
        if differs:
            st.markdown(_offer(form, snapshot, untrained=untrained), width="content")
            st.button(
                "Train these settings here",
                key="inspect_train",
                type="primary",
                icon=":material/play_arrow:",
                on_click=_train,
                args=(run, form),
            )
        if snapshot.active:
            st.button("Pause", key="inspect_pause", icon=":material/pause:", on_click=run.pause)
        elif snapshot.state == "paused" and not untrained:
            st.button(
                "Continue training",
                key="inspect_continue",
                icon=":material/play_arrow:",
                on_click=run.start,
            )


def _offer(form: Experiment, snapshot: Snapshot, *, untrained: bool) -> str:
    if untrained:
        return (
            f"Not trained yet: `{form.generator.name}`, {form.length} "
            f"{form.generator.position_word}s, model "
            f"`{form.model.name}`, {form.training.steps:,} steps, seed {form.seed}."
        )
    change = as_text(label_of_change(snapshot.experiment, form).removeprefix("+ "))
    return f"The controls or the link ask for other settings than this run's: {change}."


def _train(run: LiveRun, form: Experiment) -> None:
    if form != run.experiment:
        shelve_run(run)
        run.reset(form)
    st.session_state["shown_step"] = NOW
    run.start()


def draw_preparation(run: LiveRun, snapshot: Snapshot) -> None:
    """Before there is a model to show: that it is being prepared, or what would be shown."""

    def draw() -> None:
        now = run.snapshot()
        if now.preparing:
            draw_status(now)
            st.progress(0.0)
        else:
            st.markdown(
                "Here you see what a trained model attends to, what its prediction depends on, and "
                "what the truth depends on. A saved run can be loaded below."
            )

    draw_while(lambda: run.snapshot().preparing, draw, key="preparing", waited=snapshot.preparing)
