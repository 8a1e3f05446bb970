"""The best possible predictions of a process, computed from the process alone."""

import sys
import types

from attnlab.optimum.baselines import Baseline as Baseline
from attnlab.optimum.baselines import baselines_of as baselines_of
from attnlab.optimum.best import Best as Best
from attnlab.optimum.best import Optimum as Optimum
from attnlab.optimum.best import entropy as entropy
from attnlab.optimum.best import next_token as next_token
from attnlab.optimum.best import optimum as optimum
from attnlab.optimum.best import sequence_log_prob as sequence_log_prob
from attnlab.optimum.dependence import Dependence as Dependence
from attnlab.optimum.dependence import dependence as dependence
from attnlab.optimum.dependence import influence as influence
from attnlab.optimum.dependence import informative_of as informative_of
from attnlab.optimum.dependence import informative_positions as informative_positions
from attnlab.optimum.dependence import possible_pasts as possible_pasts
from attnlab.optimum.dependence import token_marginals as token_marginals
from attnlab.optimum.dependence import true_influence as true_influence
from attnlab.optimum.frequencies import Agreement as Agreement
from attnlab.optimum.frequencies import Counted as Counted
from attnlab.optimum.frequencies import Frequencies as Frequencies
from attnlab.optimum.frequencies import agreement as agreement
from attnlab.optimum.frequencies import count_frequencies as count_frequencies
from attnlab.optimum.frequencies import counted as counted
from attnlab.optimum.frequencies import frequencies as frequencies
from attnlab.optimum.levels import FEW_BELIEFS as FEW_BELIEFS
from attnlab.optimum.own_baselines import own_baselines as own_baselines
from attnlab.optimum.rate import EntropyRate as EntropyRate
from attnlab.optimum.rate import entropy_rate as entropy_rate


class _CallablePackage(types.ModuleType):
    def __call__(self, *arguments, **named):
        return optimum(*arguments, **named)


# `from attnlab import optimum` imports this package, which has the name of its main function.
sys.modules[__name__].__class__ = _CallablePackage
# They are no names of this package.
del sys, types
