"""The buttons that control a run, and the status line of the run."""

import dataclasses
import random
from typing import Any

import streamlit as st

from attnlab.configuration.number_text import show_duration
from attnlab.configuration.options import OptionError
from attnlab.live.live_run import LiveRun
from attnlab.runs.differences import changes_between
from attnlab.runs.snapshot import STATES, Snapshot
from attnlab.training.experiment import Experiment
from attnlab.ui.controls.form_state import fill_form, read_form
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.outside import as_text
from attnlab.ui.core.session import Command, session
from attnlab.ui.train import controller
from attnlab.ui.train.controller import settings_differ

_FASTEST = "full speed"
# Maximum number of steps per second, by menu label.
_SPEEDS = {
    _FASTEST: None,
    "100 steps/s": 100.0,
    "30 steps/s": 30.0,
    "10 steps/s": 10.0,
    "3 steps/s": 3.0,
    "1 step/s": 1.0,
}
# Maximum length of the changes named on Start, whose width is fixed.
_MOST_LETTERS = 22
_START_WIDTH = 298
# Colour and icon of every state.
_BADGES = {
    "idle": ("gray", "radio_button_unchecked"),
    "compiling": ("gray", "hourglass_top"),
    "running": ("violet", "play_circle"),
    "paused": ("gray", "pause_circle"),
    "done": ("gray", "check_circle"),
    "failed": ("red", "error"),
}


def draw_transport(
    run: LiveRun, form: controller.Form, snapshot: Snapshot, *, looks_inside: bool
) -> None:
    """Draw the buttons Start, Pause, Step, Reset and New seed, and on Train the menu of speeds."""
    state, broken = snapshot.state, isinstance(form, OptionError)
    ended, blocked = state in ("done", "failed"), broken and state == "idle"
    differs = settings_differ(form, snapshot) and not broken
    label = {"paused": "Continue", "done": "Train again"}.get(state, "Start")
    if differs and isinstance(form, Experiment):
        # The changed setting, or the number of changes.
        changes = changes_between(snapshot.experiment, form)
        words = str(changes[0]) if len(changes) == 1 else f"{len(changes)} settings"
        words = changes[0].label if len(words) > _MOST_LETTERS else words
        label = f"Train with changes: {as_text(words)}"
        if form.generator.name != snapshot.experiment.generator.name:
            label = f"Train on {form.generator.name}"
    # Look inside leaves out what cannot be pressed, and Pause takes the place of Start.
    more: dict[str, Any] = {"leaves_out": looks_inside and not broken}
    wide = _START_WIDTH if looks_inside and not differs else "content"
    # Without help texts: Streamlit draws a button with help twice, for mouse and touch.
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="transport"):
        _button(
            label,
            controller.start,
            "play_arrow",
            "s",
            disabled=not differs and (state == "failed" or snapshot.active or blocked),
            type="primary" if differs or not ended else "secondary",
            width=_START_WIDTH,
            **more,
        )
        rests = not snapshot.active
        _button("Pause", controller.pause, "pause", "p", disabled=rests, width=wide, **more)
        _button("Step", controller.step, "skip_next", "n", disabled=ended or blocked, **more)
        _button("Reset", controller.reset, "replay", "b", disabled=broken)
        draw_button("New seed", "run_new_seed", "casino", _draw_seed, shortcut="d", disabled=broken)
        if not looks_inside:
            st.selectbox(
                "speed",
                list(_SPEEDS),
                key="run_speed",
                persist_state="session",
                label_visibility="collapsed",
                on_change=lambda: set_speed(run),
                width=124,
            )


def set_speed(run: LiveRun) -> None:
    """Set the run's speed to that of the menu."""
    run.set_speed(_SPEEDS[st.session_state.get("run_speed", _FASTEST)])


def _button(
    label: str, command: Command, icon: str, key: str, *, leaves_out: bool = False, **look: Any
) -> None:
    if not (leaves_out and look["disabled"]):
        name = f"run_{command.__name__}"
        draw_button(label, name, icon, controller.queue, command, shortcut=key, **look)


def _draw_seed() -> None:
    form = read_form()
    if isinstance(form, Experiment):
        # Not reproducible by design; the run with this seed is reproducible.
        fill_form(dataclasses.replace(form, seed=random.SystemRandom().randrange(10_000)))
        controller.queue(controller.reset)


def draw_amend(form: controller.Form, snapshot: Snapshot) -> bool:
    """Draw the button that applies changed settings, if no reset is needed for them.

    Return whether it is drawn.
    """
    if not settings_differ(form, snapshot) or controller.needs_reset(form, snapshot):
        # Drop a click that the browser sent twice: it must not apply later changes.
        commands = session().commands
        commands[:] = [command for command in commands if command is not controller.amend]
        return False
    if snapshot.state not in ("running", "paused", "done"):
        return False
    queue, amend = controller.queue, controller.amend
    if draw_button("Apply and continue", "run_amend", "edit", queue, amend):
        # Commands are only run with the whole page, and this button is in a fragment.
        st.rerun()
    return True


def settings_of_shown_run(form: controller.Form, snapshot: Snapshot) -> str:
    """Return the first setting of the run that differs from the controls; if none does, ""."""
    if isinstance(form, OptionError) or not settings_differ(form, snapshot):
        return ""
    change, *rest = changes_between(snapshot.experiment, form)
    return as_text(f"{change.label} {change.before}{' …' if rest else ''}")


def draw_status(snapshot: Snapshot, shown_step: int | None = None) -> None:
    """Draw the run's state, step, speed and time left.

    `shown_step` is the step that all panels show, if it is not the newest one.
    """
    total, step, word = snapshot.experiment.training.steps, snapshot.step, "step"
    if shown_step is not None:
        step, word = shown_step, "showing step"
    # A run in the queue is not compiling yet, and of a finished one only the test is.
    is_loaded = snapshot.state == "compiling" and snapshot.step == total
    named = "waiting" if snapshot.in_queue else "loading" if is_loaded else snapshot.state
    colour, icon = _BADGES[snapshot.state]
    # As wide at every step, so that nothing beside it moves.
    width = len(f"{total:,}")
    parts = [
        f":{colour}-badge[:material/{icon}: {named}]",
        f"`{word} {step:0{width},}` of {total:,}",
    ]
    if snapshot.state == "running" and snapshot.seconds_left is not None:
        # Two significant digits.
        speed = float(f"{snapshot.steps_per_second:.2g}")
        parts.append(f"{speed:,.0f} steps/s" if speed >= 10 else f"{speed:.2g} steps/s")
        parts.append(f"{show_duration(snapshot.seconds_left)} left")
    elif snapshot.state == "compiling" and (snapshot.message or not is_loaded):
        parts.append(snapshot.message or STATES["compiling"])
    elif snapshot.state == "idle":
        parts.append(STATES["idle"])
    elif snapshot.state == "paused" and snapshot.message:
        parts.append(snapshot.message)
    with st.container(key="run_status", width="content"):
        st.markdown(" · ".join(parts))
