"""How much of what can be learned a run has learned."""

from typing import NamedTuple

import numpy as np

from attnlab.optimum import Best
from attnlab.training.evaluation import Evaluation

# A process whose floor is this near to a uniform guess has nothing in it to learn.
_NOTHING = 1e-4


class LearnedShare(NamedTuple):
    """A share of what can be learned, and its standard error. 0 is a uniform guess, 1 the floor."""

    share: float
    stderr: float


def learned_share(test: Evaluation | Best, floor: Best, vocab: int) -> LearnedShare | None:
    """(uniform - loss) / (uniform - floor), or None where a uniform guess is the optimum.

    The error is that of the test loss, and of the floor where that is estimated.
    """
    uniform = np.log(vocab)
    span = uniform - floor.nll
    if span < _NOTHING:
        return None
    share = (uniform - test.nll) / span
    stderr = np.hypot(test.nll_stderr, share * floor.nll_stderr) / span
    return LearnedShare(float(share), float(stderr))
