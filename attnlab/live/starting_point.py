"""What there is to see of an experiment before its first step."""

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from attnlab.configuration.options import default_of
from attnlab.models import parameter_count
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.loop import NO_TESTS, Look, look_at
from attnlab.training.steps import AMENDABLE, Training


class StartingPoint(NamedTuple):
    """The untrained model and its test, and the sequences that its patterns are shown on."""

    look: Look
    probes: Int[np.ndarray, "probes length"]
    parameters: int


def starting_point(experiment: Experiment) -> StartingPoint:
    """What a run of the experiment shows at step 0."""
    setup = prepare(experiment)
    look = look_at(setup.state, setup, experiment.training, NO_TESTS)
    return StartingPoint(look, np.asarray(setup.probes), parameter_count(look.model))


def without_course(experiment: Experiment) -> Experiment:
    """With everything at its default that its starting point does not depend on."""
    names = (*AMENDABLE, "schedule", "scheduled_sampling")
    course = {name: default_of(Training, name) for name in names}
    training = dataclasses.replace(experiment.training, **course)
    return dataclasses.replace(experiment, training=training)
