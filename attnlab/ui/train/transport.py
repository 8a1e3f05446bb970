"""The buttons that move a run, and the line that says where it stands."""

import dataclasses
import random

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.live.live_run import LiveRun
from attnlab.runs.snapshot import STATES, Snapshot
from attnlab.training.experiment import Experiment
from attnlab.training.steps import AMENDABLE
from attnlab.ui.core.outside import draw_toast
from attnlab.ui.train.session_past_runs import shelve_run

_COMMANDS = "commands"


def settings_differ(form: Experiment | OptionError, snapshot: Snapshot) -> bool:
    """Whether the controls ask for something else than the run at hand is doing."""
    return snapshot.state != "idle" and form != snapshot.experiment


def obey(run: LiveRun, form: Experiment | OptionError) -> None:
    """Do what the buttons asked for since the last picture. After the controls are drawn.

    Not in the buttons' callbacks: those know the controls of the picture that was clicked, and a
    number typed just before the click would be missed.
    """
    commands = st.session_state.setdefault(_COMMANDS, [])
    while commands:
        command = commands.pop(0)
        if command == "amend":
            _amend(run, form)
            continue
        # A run at hand goes on whatever the controls say.
        if command == "reset" or (command != "pause" and run.snapshot().state == "idle"):
            if isinstance(form, OptionError):
                continue
            shelve_run(run)
            run.reset(form)
        if command != "reset":
            getattr(run, command)()


def _amend(run: LiveRun, form: Experiment | OptionError) -> None:
    if isinstance(form, OptionError):
        return
    try:
        run.amend(form)
    except ValueError as error:
        draw_toast(str(error))


def needs_reset(form: Experiment | OptionError, snapshot: Snapshot) -> bool:
    """Whether the controls ask for more than the run at hand can go on with."""
    if isinstance(form, OptionError):
        return True
    kept = {name: getattr(snapshot.experiment.training, name) for name in AMENDABLE}
    training = dataclasses.replace(form.training, **kept)
    return dataclasses.replace(form, training=training) != snapshot.experiment


def draw_transport(run: LiveRun, form: Experiment | OptionError, snapshot: Snapshot) -> None:
    """Start, Pause, Step, Reset and New seed. `form` is what the controls describe."""
    state, broken = snapshot.state, isinstance(form, OptionError)
    ended = state in ("done", "failed")
    differs = settings_differ(form, snapshot)
    goes_on = differs and not needs_reset(form, snapshot) and not snapshot.active
    # No help texts here: Streamlit draws a button with one twice, for the mouse and for touch.
    with st.container(horizontal=True, gap="small", key="transport"):
        st.button(
            "Start",
            key="run_start",
            icon=":material/play_arrow:",
            shortcut="s",
            type="secondary" if differs or ended else "primary",
            disabled=ended or snapshot.active or (broken and state == "idle"),
            on_click=_ask_for,
            args=("start",),
        )
        st.button(
            "Pause",
            key="run_pause",
            icon=":material/pause:",
            shortcut="p",
            disabled=not snapshot.active,
            on_click=_ask_for,
            args=("pause",),
        )
        st.button(
            "Step",
            key="run_step",
            icon=":material/skip_next:",
            shortcut="n",
            disabled=ended or (broken and state == "idle"),
            on_click=_ask_for,
            args=("step",),
        )
        st.button(
            "Reset to apply" if differs and not goes_on else "Reset",
            key="run_reset",
            icon=":material/replay:",
            shortcut="b",
            disabled=broken,
            type="primary" if (differs or ended) and not goes_on else "secondary",
            on_click=_ask_for,
            args=("reset",),
        )
        if goes_on:
            st.button(
                "Go on with these",
                key="run_amend",
                icon=":material/edit:",
                type="primary",
                on_click=_ask_for,
                args=("amend",),
            )
        st.button(
            "New seed",
            key="run_new_seed",
            icon=":material/casino:",
            shortcut="d",
            disabled=broken,
            on_click=_draw_seed,
        )


def _ask_for(command: str) -> None:
    st.session_state.setdefault(_COMMANDS, []).append(command)


def _draw_seed() -> None:
    # The one number in the app that nobody asks to be repeatable: the run it starts is.
    st.session_state["seed"] = random.SystemRandom().randrange(10_000)
    _ask_for("reset")


def draw_difference(form: Experiment, snapshot: Snapshot) -> None:
    """That the controls ask for something else than the run at hand, and what can be done."""
    if needs_reset(form, snapshot):
        text = "Settings changed: reset to apply them. The run at hand keeps its own."
    elif snapshot.active:
        text = "Settings changed: pause to go on with them, or reset. The run keeps its own."
    else:
        text = "Settings changed: go on with them and keep the model, or reset to begin again."
    st.info(text, icon=":material/change_circle:")


def draw_status(snapshot: Snapshot) -> None:
    """State, step, speed and time left, in digits that keep their places."""
    total = snapshot.experiment.training.steps
    parts = [
        f":{_COLOURS[snapshot.state]}-badge[{_ICONS[snapshot.state]} {snapshot.state}]",
        f"`step {snapshot.step:07,}` of {total:,}",
    ]
    if snapshot.state == "running" and snapshot.seconds_left is not None:
        parts.append(f"{_two_digits(snapshot.steps_per_second)} steps/s")
        parts.append(f"{_duration(snapshot.seconds_left)} left")
    elif snapshot.state == "compiling":
        parts.append(snapshot.message or STATES["compiling"])
    elif snapshot.state == "idle":
        parts.append(STATES["idle"])
    elif snapshot.state == "paused" and snapshot.message:
        parts.append(snapshot.message)
    with st.container(key="run_status", width="content"):
        st.markdown(" · ".join(parts))


_ICONS = {
    "idle": ":material/radio_button_unchecked:",
    "compiling": ":material/hourglass_top:",
    "running": ":material/play_circle:",
    "paused": ":material/pause_circle:",
    "done": ":material/check_circle:",
    "failed": ":material/error:",
}
_COLOURS = {
    "idle": "gray",
    "compiling": "orange",
    "running": "violet",
    "paused": "blue",
    "done": "green",
    "failed": "red",
}


def _two_digits(value: float) -> str:
    """A speed as it is known: two significant digits."""
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 10 else f"{value:.2g}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
