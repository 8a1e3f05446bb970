"""A run with its state and history: its growth by events, its resumption, its models by step."""

import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from attnlab.configuration.options import OptionError
from attnlab.models import AbstractModel
from attnlab.runs.history import History, empty_history
from attnlab.training.changes import Change, after_change, before_changes, change_between
from attnlab.training.experiment import Experiment
from attnlab.training.loop import EvaluationPlan, Event, Progress
from attnlab.training.loop import run as events_of
from attnlab.training.steps import TrainState


class Run(NamedTuple):
    """A run that can be inspected, saved and resumed: its experiment, state and history.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from attnlab import Experiment, Run, Training, prepare, run, save_run
    >>> experiment = Experiment(training=Training(steps=20, train_size=100, test_size=100))
    >>> setup = prepare(experiment)
    >>> record = Run(experiment, setup.state)
    >>> for event in run(experiment, setup=setup):
    ...     record = record.after(event)
    >>> record.history.losses.size, record.history.tests[-1][0], int(record.state.step)
    (20, 20, 20)
    >>> with TemporaryDirectory() as folder:
    ...     save_run(record, Path(folder, "my.run"))
    """

    experiment: Experiment
    state: TrainState
    history: History = empty_history()

    def after(self, event: Event) -> "Run":
        """Return the run after an event of `run` or `resume`."""
        experiment, state = self.experiment, self.state
        if isinstance(event, Progress):
            state = event.state
        elif isinstance(event, Change):
            training = after_change(experiment.training, event)
            experiment = dataclasses.replace(experiment, training=training)
        return Run(experiment, state, self.history.after(event))


def resume(run: Run, *, steps: int | None = None) -> Iterator[Event]:
    """Continue a run, yielding events as `run` does; the run itself is not changed.

    A resumed run has the same numbers as an uninterrupted one of as many steps. Only a schedule and
    `scheduled_sampling` depend on the number of all steps, which `steps` may change.

    Args:
        run: A run that was trained in this script, or that `load_run` returned.
        steps: Number of further steps, which is recorded as a `Change` of all steps. By default the
            steps that its experiment has left.

    Raises:
        OptionError: If `steps` is below 1, or makes more steps than a run may have.

    >>> from attnlab import Experiment, Training, resume, run_all
    >>> small = Training(steps=20, train_size=100, test_size=100)
    >>> (result,) = run_all([Experiment(training=small)])
    >>> record = result.run
    >>> for event in resume(record, steps=10):
    ...     record = record.after(event)
    >>> int(record.state.step), record.experiment.training.steps
    (30, 30)
    """
    training, made = run.experiment.training, int(run.state.step)
    if steps is not None and steps < 1:
        raise OptionError("steps", steps, "not a number of further steps", "Choose 1 or more")
    total = training.steps if steps is None else made + steps
    change = change_between(training, dataclasses.replace(training, steps=total), step=made)
    return events_of(run.experiment, run.state, changes=(change,) if change.options else ())


def model_at(run: Run, step: int) -> AbstractModel:
    """Return the model of a run after `step` steps.

    A model that the run did not keep is trained again from the first step. The losses then show
    whether it is the same: equal experiments give equal numbers on the same machine.

    Raises:
        OptionError: If the run has fewer steps, or if its losses are not obtained again.

    >>> from attnlab import Experiment, Training, model_at, run_all
    >>> small = Training(steps=20, train_size=100, test_size=100)
    >>> (result,) = run_all([Experiment(training=small)], checkpoints=(5,))
    >>> [step for step, model in result.run.history.checkpoints]
    [5, 20]
    >>> kept, trained_again = model_at(result.run, 5), model_at(result.run, 7)
    """
    made = int(run.state.step)
    kept = {**dict(run.history.checkpoints), made: run.state.model}
    if step in kept:
        return kept[step]
    if not 0 <= step <= made:
        raise OptionError("step", step, f"the run has {made:,} steps", f"Choose 0 to {made}")
    changes, plan = run.history.changes, EvaluationPlan((step,), (step,))
    training = before_changes(run.experiment.training, changes)
    again = Run(dataclasses.replace(run.experiment, training=training), run.state)
    for event in events_of(again.experiment, changes=changes, plan=plan):
        again = again.after(event)
        if again.history.checkpoints:
            break
    if not np.array_equal(again.history.losses, run.history.losses[:step]):
        problem = "not a step whose model was kept, and its losses are not obtained again here"
        raise OptionError("step", step, problem, f"Choose one of {', '.join(map(str, kept))}")
    return again.history.checkpoints[-1][1]
