"""What the buttons of a run do: start, pause, step, reset, and apply changed settings.

The buttons queue these functions, and the page calls them after it has drawn all controls: a
callback would miss a number typed just before the click.
"""

import dataclasses

from attnlab.configuration.options import OptionError
from attnlab.live.live_run import LiveRun
from attnlab.runs.snapshot import Snapshot
from attnlab.training.changes import rescheduled
from attnlab.training.experiment import Experiment
from attnlab.training.steps import AMENDABLE
from attnlab.ui.core.outside import draw_toast
from attnlab.ui.core.session import Command, session
from attnlab.ui.core.session_library import name_current, shelve_run

Form = Experiment | OptionError


def start(run: LiveRun, form: Form) -> None:
    """Train the run, or a new one if the controls differ from it or the run is done."""
    if form != run.experiment or run.snapshot().state == "done":
        reset(run, form)
    if _is_runnable(run, form):
        run.start()


def pause(run: LiveRun, form: Form) -> None:
    """Pause the run."""
    if _is_runnable(run, form):
        run.pause()


def step(run: LiveRun, form: Form) -> None:
    """Train the run for one step."""
    if _is_runnable(run, form):
        run.step()


def reset(run: LiveRun, form: Form) -> None:
    """Keep the run as a past run, and replace it by a new one with the settings of the controls."""
    if isinstance(form, Experiment):
        shelve_run(run)
        run.reset(form)


def amend(run: LiveRun, form: Form) -> None:
    """Apply the settings of the controls to the run, and continue it."""
    # If they are equal, the browser sent the click twice.
    if isinstance(form, OptionError) or form == run.experiment:
        return
    before, at = run.experiment.training, run.snapshot().step
    try:
        run.amend(form)
    except ValueError as error:
        draw_toast(str(error))
    else:
        if note := rescheduled(before, form.training, step=at):
            draw_toast(note)
        run.start()


def _is_runnable(run: LiveRun, form: Form) -> bool:
    """Name the run. A run that was started can continue even if the controls are not valid."""
    if isinstance(form, OptionError):
        return run.snapshot().state != "idle"
    name_current(run)
    return True


def queue(command: Command) -> None:
    """Call a command as soon as the page has drawn its controls."""
    session().commands.append(command)


def run_commands(run: LiveRun, form: Form) -> None:
    """Call the queued commands. A run that has not started gets the settings of the controls."""
    commands = session().commands
    while True:
        idle = run.snapshot().state == "idle"
        if idle and isinstance(form, Experiment) and form != run.experiment:
            run.reset(form)
        if not commands:
            return
        commands.pop(0)(run, form)


def settings_differ(form: Form, snapshot: Snapshot) -> bool:
    """Return whether the controls differ from the settings of the current run."""
    return snapshot.state != "idle" and form != snapshot.experiment


def needs_reset(form: Form, snapshot: Snapshot) -> bool:
    """Return whether the controls differ from the run in settings that training cannot change."""
    if isinstance(form, OptionError):
        return True
    kept = {name: getattr(snapshot.experiment.training, name) for name in AMENDABLE}
    training = dataclasses.replace(form.training, **kept)
    return dataclasses.replace(form, training=training) != snapshot.experiment
