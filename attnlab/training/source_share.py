"""How much of all that a task could ask is met in training."""

import math

from attnlab.configuration.options import OptionError
from attnlab.generators import AbstractTask
from attnlab.training.experiment import Experiment


def share_in_training(experiment: Experiment) -> float:
    """Return the expected share of a task's sources that training meets.

    Every draw takes one of N sources: all S of the task if data are fresh, else those of the
    training set. The N sources then meet n draws with replacement in a share of 1 - (1 - 1/N)^n.
    A full batch meets the whole training set.

    Raises:
        OptionError: if the process has no source.

    >>> from attnlab.generators import Cards
    >>> round(share_in_training(Experiment(generator=Cards(hand=5))), 8)
    1.603e-05

    """
    task, training = experiment.generator, experiment.training
    if not isinstance(task, AbstractTask):
        raise OptionError("generator", task.name, "it has no source", "Choose a task")
    among = training.train_size if training.data == "fixed" else task.sources()
    if training.batch_mode == "full":
        met = 1.0
    else:
        missed_once = math.log1p(-1 / among) if among > 1 else -math.inf
        met = -math.expm1(training.steps * training.batch * missed_once)
    return met * among / task.sources()
