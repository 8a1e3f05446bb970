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
from attnlab.training.changes import rescheduled
from attnlab.training.experiment import Experiment
from attnlab.training.steps import AMENDABLE
from attnlab.ui.controls.form_state import fill_form, read_form
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.outside import as_text, draw_toast
from attnlab.ui.core.session import session
from attnlab.ui.core.session_library import name_current, shelve_run

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


def settings_differ(form: Experiment | OptionError, snapshot: Snapshot) -> bool:
    """Return whether the controls differ from the settings of the current run."""
    return snapshot.state != "idle" and form != snapshot.experiment


def apply_commands(run: LiveRun, form: Experiment | OptionError) -> None:
    """Run the commands queued since the last rerun. Call it after drawing the controls.

    The buttons' callbacks run before that, and would miss a number typed just before the click. A
    run that has not started gets the settings of the controls.
    """
    run.set_speed(_SPEEDS[st.session_state.get("run_speed", _FASTEST)])
    commands = session().commands
    while True:
        idle = run.snapshot().state == "idle"
        if idle and isinstance(form, Experiment) and form != run.experiment:
            run.reset(form)
        if not commands:
            return
        _apply(commands.pop(0), run, form)


def _apply(command: str, run: LiveRun, form: Experiment | OptionError) -> None:
    if isinstance(form, OptionError):
        # The current run can continue even if the controls are not valid.
        if command not in ("reset", "amend") and run.snapshot().state != "idle":
            getattr(run, command)()
        return
    if command == "amend":
        _amend(run, form)
        return
    if command == "reset" or (command == "start" and form != run.experiment):
        shelve_run(run)
        run.reset(form)
    if command != "reset":
        name_current(run)
        getattr(run, command)()


def _amend(run: LiveRun, form: Experiment) -> None:
    if form == run.experiment:
        # The browser sent the click twice.
        return
    before, step = run.experiment.training, run.snapshot().step
    try:
        run.amend(form)
    except ValueError as error:
        draw_toast(str(error))
    else:
        if note := rescheduled(before, form.training, step=step):
            draw_toast(note)
        run.start()


def needs_reset(form: Experiment | OptionError, snapshot: Snapshot) -> bool:
    """Return whether the controls differ from the run in settings that training cannot change."""
    if isinstance(form, OptionError):
        return True
    kept = {name: getattr(snapshot.experiment.training, name) for name in AMENDABLE}
    training = dataclasses.replace(form.training, **kept)
    return dataclasses.replace(form, training=training) != snapshot.experiment


def draw_transport(run: LiveRun, form: Experiment | OptionError, snapshot: Snapshot) -> None:
    """Draw the buttons Start, Pause, Step, Reset and New seed, and the menu of speeds."""
    state, broken = snapshot.state, isinstance(form, OptionError)
    ended = state in ("done", "failed")
    differs = settings_differ(form, snapshot) and not broken
    # Without help texts: Streamlit draws a button with help twice, for mouse and touch.
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="transport"):
        _button(
            _start_label(form, snapshot)
            if differs and isinstance(form, Experiment)
            else ("Continue" if state == "paused" else "Start"),
            "start",
            "play_arrow",
            "s",
            disabled=not differs and (ended or snapshot.active or (broken and state == "idle")),
            type="primary" if differs or not ended else "secondary",
            width=_START_WIDTH,
        )
        _button("Pause", "pause", "pause", "p", disabled=not snapshot.active)
        _button("Step", "step", "skip_next", "n", disabled=ended or (broken and state == "idle"))
        _button("Reset", "reset", "replay", "b", disabled=broken)
        draw_button("New seed", "run_new_seed", "casino", _draw_seed, shortcut="d", disabled=broken)
        st.selectbox(
            "speed",
            list(_SPEEDS),
            key="run_speed",
            persist_state="session",
            label_visibility="collapsed",
            on_change=lambda: run.set_speed(_SPEEDS[st.session_state["run_speed"]]),
            width=124,
        )


def _button(label: str, name: str, icon: str, shortcut: str, **more: Any) -> None:
    draw_button(label, f"run_{name}", icon, _queue, name, shortcut=shortcut, **more)


def _start_label(form: Experiment, snapshot: Snapshot) -> str:
    """Return the label of Start, with the changed setting or the number of changes."""
    changes = changes_between(snapshot.experiment, form)
    words = str(changes[0]) if len(changes) == 1 else f"{len(changes)} settings"
    if len(words) > _MOST_LETTERS:
        words = changes[0].label
    return f"Train with changes: {as_text(words)}"


def _queue(command: str) -> None:
    session().commands.append(command)


def _draw_seed() -> None:
    form = read_form()
    if isinstance(form, Experiment):
        # Not reproducible by design; the run with this seed is reproducible.
        fill_form(dataclasses.replace(form, seed=random.SystemRandom().randrange(10_000)))
        _queue("reset")


def draw_amend(form: Experiment | OptionError, snapshot: Snapshot) -> bool:
    """Draw the button that applies changed settings, if no reset is needed for them.

    Return whether it is drawn.
    """
    if not settings_differ(form, snapshot) or needs_reset(form, snapshot):
        # Drop a click that the browser sent twice: it must not apply later changes.
        commands = session().commands
        commands[:] = [command for command in commands if command != "amend"]
        return False
    if snapshot.state not in ("running", "paused", "done"):
        return False
    if draw_button("Apply and continue", "run_amend", "edit", _queue, "amend"):
        # Commands are only run with the whole page, and this button is in a fragment.
        st.rerun()
    return True


def whose_figures(form: Experiment | OptionError, snapshot: Snapshot) -> tuple[str, str]:
    """Return labels of the run and of the controls, made of the first setting that differs.

    Without a difference both are "".
    """
    if isinstance(form, OptionError) or not settings_differ(form, snapshot):
        return "", ""
    change, *rest = changes_between(snapshot.experiment, form)
    more = " …" if rest else ""
    return (
        as_text(f"shown run: {change.label} {change.before}{more}"),
        as_text(f"your settings: {change.label} {change.after}{more}"),
    )


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
        parts.append(f"{_two_digits(snapshot.steps_per_second)} steps/s")
        parts.append(f"{show_duration(snapshot.seconds_left)} left")
    elif snapshot.state == "compiling":
        parts.append(snapshot.message or STATES["compiling"])
    elif snapshot.state == "idle":
        parts.append(STATES["idle"])
    elif snapshot.state == "paused" and snapshot.message:
        parts.append(snapshot.message)
    with st.container(key="run_status", width="content"):
        st.markdown(" · ".join(parts))


# Colour and icon of every state.
_BADGES = {
    "idle": ("gray", "radio_button_unchecked"),
    "compiling": ("gray", "hourglass_top"),
    "running": ("violet", "play_circle"),
    "paused": ("gray", "pause_circle"),
    "done": ("gray", "check_circle"),
    "failed": ("red", "error"),
}


def _two_digits(value: float) -> str:
    """Return a speed with two significant digits."""
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 10 else f"{value:.2g}"
