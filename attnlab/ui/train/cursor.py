"""The step that all panels of a run show, and the untrained model before training."""

import bisect
import dataclasses
import functools
import gc
import logging
from typing import NamedTuple

import numpy as np
import streamlit as st
from jaxtyping import Int
from streamlit.errors import StreamlitAPIException

from attnlab.configuration.options import default_of, present
from attnlab.live.live_run import compile_steps
from attnlab.models import AbstractModel, parameter_count
from attnlab.optimum import baselines_of, dependence, optimum
from attnlab.runs.snapshot import Snapshot
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.limits import feasibility
from attnlab.training.loop import NO_TESTS, EvaluationEvent, evaluate_state
from attnlab.training.presets import FIRST_PRESET, PRESETS
from attnlab.training.steps import AMENDABLE, Training
from attnlab.ui.core.figures import compute_figures
from attnlab.ui.core.server import environment_problem
from attnlab.ui.core.session import session

_SHOWN = "shown_step"
# Keys of the fragments that show the step.
LIVE, OVER_TRAINING = "live", "over_training"


class Moment(NamedTuple):
    """A step of a run, its evaluation, and the last checkpoint at or before that step.

    `is_now` is true for the newest step, which advances while the run trains.
    """

    step: int
    evaluation: Evaluation
    model: AbstractModel
    model_step: int
    is_now: bool


def models_before(snapshot: Snapshot, moment: Moment) -> dict[int, AbstractModel]:
    """Return the checkpoints before the moment's checkpoint, by step."""
    return {step: model for step, model in snapshot.history.checkpoints if step < moment.model_step}


def show_step(step: int | None) -> None:
    """In a callback: show a step in all panels, or with None the newest one."""
    st.session_state[_SHOWN] = step
    follow_shown_step()


def follow_shown_step() -> None:
    """In a callback: redraw all fragments that show the step, not only that of the control."""
    try:
        st.rerun([LIVE, OVER_TRAINING])
    except StreamlitAPIException:
        # A page may have only one of them, and a click that interrupts a rerun finds neither.
        st.rerun()


def shown_step() -> int | None:
    """Return the step that all panels show, or None for the newest one."""
    return st.session_state.get(_SHOWN)


def shown_moment(snapshot: Snapshot) -> Moment:
    """Return the shown step of a run; the newest one if the run has no test at that step."""
    tests, models = dict(snapshot.history.tests), snapshot.history.checkpoints
    step = shown_step()
    if step is None or step not in tests or not models:
        step, evaluation, model, *_ = present(snapshot.latest)
        return Moment(step, evaluation, present(model), step, is_now=True)
    place = bisect.bisect_right([kept for kept, _ in models], step) - 1
    model_step, model = models[max(place, 0)]
    return Moment(step, tests[step], model, model_step, is_now=False)


_LOG = logging.getLogger(__name__)


class StartingPoint(NamedTuple):
    """The untrained model with its evaluation, its probe sequences and its parameter count."""

    evaluated: EvaluationEvent
    probes: Int[np.ndarray, "probes length"]
    parameters: int


# The key is the experiment, not its hash: equal options of two classes have equal hashes.
@functools.lru_cache(8)
def starting_point(experiment: Experiment) -> StartingPoint | None:
    """Return what a run of the experiment shows at step 0, or None if this cannot be computed.

    No error is shown here: the run shows the error when it is started.
    """
    try:
        setup = prepare(experiment)
        evaluated = evaluate_state(setup.state, setup, experiment.training, NO_TESTS)
    # Any error counts, such as too little memory.
    except Exception:
        _LOG.exception("The untrained model could not be built.")
        return None
    return StartingPoint(evaluated, np.asarray(setup.probes), parameter_count(setup.state.model))


def without_course(experiment: Experiment) -> Experiment:
    """Return the experiment, with defaults for all options that have no effect at step 0."""
    names = (*AMENDABLE, "schedule", "scheduled_sampling")
    course = {name: default_of(Training, name) for name in names}
    training = dataclasses.replace(experiment.training, **course)
    return dataclasses.replace(experiment, training=training)


def with_starting_point(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot; before the first evaluation, add the untrained model to it.

    The untrained model is only built while the run is idle, and then kept.
    """
    if snapshot.latest is not None:
        return snapshot
    kept, experiment = session().kept, without_course(snapshot.experiment)
    if snapshot.state == "idle":
        kept["starting_point"] = experiment, starting_point(experiment)
    of, point = kept.get("starting_point", (None, None))
    if of != experiment or point is None:
        return snapshot
    return dataclasses.replace(
        snapshot, latest=point.evaluated, probes=point.probes, parameters=point.parameters
    )


def warm_up() -> None:
    """Compute and compile what the first page needs, before the first user arrives."""
    if not environment_problem():
        first = PRESETS[FIRST_PRESET].experiment
        process = first.generator, first.length
        starting_point(without_course(first))
        compute_figures(
            *((each, *process) for each in (dependence, optimum, baselines_of)),
            (feasibility, first),
        )
        compile_steps(first)
    # Exclude the loaded modules, which stay anyway, from later garbage collections.
    gc.collect()
    gc.freeze()
