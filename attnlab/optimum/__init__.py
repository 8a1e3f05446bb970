"""The best possible predictions of a process, computed from the process alone."""

import sys
import types

from attnlab.optimum.baselines import Baseline, ladder
from attnlab.optimum.best import Best, Optimum, entropy, next_token, optimum, sequence_log_prob
from attnlab.optimum.dependence import (
    Dependence,
    dependence,
    influence,
    informative_positions,
    possible_pasts,
    token_marginals,
    true_influence,
)
from attnlab.optimum.frequencies import (
    Agreement,
    Counted,
    Frequencies,
    agreement,
    count_frequencies,
    counted,
    frequencies,
)
from attnlab.optimum.levels import FEW_BELIEFS
from attnlab.optimum.own_baselines import own_baselines
from attnlab.optimum.rate import EntropyRate, entropy_rate

# Earlier names that existing scripts use; pages showed the first one in code to copy.
next_day = next_token
informative_days = informative_positions
Rung = Baseline

__all__ = [
    "FEW_BELIEFS",
    "Agreement",
    "Baseline",
    "Best",
    "Counted",
    "Dependence",
    "EntropyRate",
    "Frequencies",
    "Optimum",
    "Rung",
    "agreement",
    "count_frequencies",
    "counted",
    "dependence",
    "entropy",
    "entropy_rate",
    "frequencies",
    "influence",
    "informative_days",
    "informative_positions",
    "ladder",
    "next_day",
    "next_token",
    "optimum",
    "own_baselines",
    "possible_pasts",
    "sequence_log_prob",
    "token_marginals",
    "true_influence",
]


class _CallablePackage(types.ModuleType):
    def __call__(self, *arguments, **named):
        return optimum(*arguments, **named)


# `from attnlab import optimum` imports this package, which has the name of its main function.
sys.modules[__name__].__class__ = _CallablePackage
