"""The share learned of what can be learned, and the share of a task's sources in training."""

import math
from typing import NamedTuple

import numpy as np

from attnlab.configuration.options import OptionError, present
from attnlab.optimum import Best
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment

# Below this share learned, no percentage is shown. At -1 the loss is as far above a uniform guess
# as the floor is below it.
HOPELESS = -1.0
# A floor this close to a uniform guess leaves nothing to learn, and neither does an exact loss this
# close to the floor.
_NOTHING = 1e-4
# Within this many standard errors a loss counts as equal to the floor.
_ERRORS = 2.0
# The 95 % quantile of a standard normal.
_LEVEL = 1.645


class LearnedShare(NamedTuple):
    """A share of what can be learned, and its standard error. 0 is a uniform guess, 1 the floor."""

    share: float
    stderr: float


class AboveFloor(NamedTuple):
    """The distance of a loss from the floor in nats, and its standard error over the test."""

    nll: float
    stderr: float


def above_floor(test: Evaluation | Best, floor: Best) -> AboveFloor:
    """Return the `excess` of a test or, without one, its loss minus the floor.

    Both estimate the same, but the error of the `excess` is far smaller: it is a difference on the
    same sequences, and does not include the error of an estimated floor.
    """
    if isinstance(test, Evaluation) and test.excess is not None:
        return AboveFloor(test.excess, present(test.excess_stderr))
    stderr = np.hypot(test.nll_stderr, floor.nll_stderr)
    return AboveFloor(test.nll - floor.nll, float(stderr))


def learned_share(test: Evaluation | Best, floor: Best, vocab: int) -> LearnedShare | None:
    """Return 1 - above_floor / (uniform - floor), or None if a uniform guess is the optimum.

    The error is that of the test, and of the floor if it is estimated.
    """
    span = np.log(vocab) - floor.nll
    if span < _NOTHING:
        return None
    above = above_floor(test, floor).nll
    share = 1 - above / span
    # The error of an infinite loss is NaN.
    with np.errstate(invalid="ignore"):
        if isinstance(test, Evaluation) and test.excess is not None:
            stderr = np.hypot(present(test.excess_stderr), (1 - share) * floor.nll_stderr)
        else:
            stderr = np.hypot(test.nll_stderr, share * floor.nll_stderr)
    return LearnedShare(float(share), float(stderr / span))


def is_at_floor(test: Evaluation, floor: Best, tokens: int) -> bool:
    """Return whether a test of `tokens` tokens cannot distinguish the model from the process.

    With an `excess` this is the likelihood-ratio test at 5 %. If the tokens came from a model near
    the true distribution, the sum of their n log ratios would be normal, with variance nσ² and mean
    -nσ²/2 (van der Vaart 1998, "Asymptotic statistics", example 7.3); σ²/n is the squared error of
    the excess. Without an `excess`, the loss must be within two errors of the floor.
    """
    above = above_floor(test, floor)
    if test.excess is None:
        return bool(above.nll <= _ERRORS * above.stderr)
    if above.stderr == 0:
        return above.nll <= _NOTHING
    return bool(above.nll / above.stderr + tokens * above.stderr / 2 <= _LEVEL)


def share_in_training(experiment: Experiment) -> float:
    """Return the expected share of a task's sources that training sees.

    Every draw takes one of N sources: all S of the task with fresh data, otherwise those of the
    training set. n draws with replacement see a share of 1 - (1 - 1/N)^n of them. A full batch sees
    the whole training set, and the law every source.

    Raises:
        OptionError: If the process has no source.

    >>> from attnlab.generators import Cards
    >>> round(share_in_training(Experiment(generator=Cards(hand=5))), 8)
    1.603e-05

    """
    task, training = experiment.generator, experiment.training
    if (sources := task.sources()) is None:
        raise OptionError("generator", task.name, "it has no source", "Choose a task")
    among = training.train_size if training.data == "fixed" else sources
    if training.batch_mode == "full" or training.data == "law":
        met = 1.0
    else:
        missed_once = math.log1p(-1 / among) if among > 1 else -math.inf
        met = -math.expm1(training.steps * training.batch * missed_once)
    return met * among / sources
