"""How much of all that a task could ask is met in training."""

import math

from attnlab.configuration.options import OptionError
from attnlab.generators import AbstractTask
from attnlab.training.experiment import Experiment


def share_in_training(experiment: Experiment) -> float:
    """The share of a task's sources that training meets; of fresh samples, the expected one.

    For fresh ones it is 1 - (1 - 1/S)^(steps × batch) with S sources, and as large is the chance
    that training meets a given source of the test. Fixed sources of training and test all differ.
    Refused, with an `OptionError`: a process without a source.

    >>> from attnlab.generators import Cards
    >>> round(share_in_training(Experiment(generator=Cards(hand=5))), 8)
    1.603e-05
    """
    task, training = experiment.generator, experiment.training
    if not isinstance(task, AbstractTask):
        raise OptionError("generator", task.name, "it has no source", "Choose a task")
    if training.data == "fixed":
        return training.train_size / task.sources()
    return -math.expm1(training.steps * training.batch * math.log1p(-1 / task.sources()))
