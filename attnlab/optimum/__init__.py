"""What only someone who knows the process can compute: the best that could be learned."""

from attnlab.optimum.best import Best, Optimum, entropy, optimum
from attnlab.optimum.dependence import (
    Dependence,
    dependence,
    influence,
    informative_days,
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
from attnlab.optimum.ladder import Rung, ladder
from attnlab.optimum.levels import FEW_BELIEFS
from attnlab.optimum.next_day import next_day, sequence_log_prob

__all__ = [
    "FEW_BELIEFS",
    "Agreement",
    "Best",
    "Counted",
    "Dependence",
    "Frequencies",
    "Optimum",
    "Rung",
    "agreement",
    "count_frequencies",
    "counted",
    "dependence",
    "entropy",
    "frequencies",
    "influence",
    "informative_days",
    "ladder",
    "next_day",
    "optimum",
    "possible_pasts",
    "sequence_log_prob",
    "token_marginals",
    "true_influence",
]
