"""The entropy rate of a hidden Markov process: the limit of its floor over ever longer pasts."""

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from attnlab.configuration.cancellation import check_in
from attnlab.generators import AbstractHiddenChain
from attnlab.optimum.best import entropy

# Both bounds are shown with four decimals.
_CLOSE = 1e-5
_MOST_TOKENS, _MOST_BELIEFS = 256, 20_000
# Beliefs that differ by rounding are one.
_PLACES = 12


class EntropyRate(NamedTuple):
    """Bounds of the entropy rate in nats per token, from pasts of `tokens` tokens."""

    low: float
    high: float
    tokens: int


@functools.lru_cache(maxsize=64)
def entropy_rate(chain: AbstractHiddenChain) -> EntropyRate:
    """Return bounds of lim H(token | all tokens before it), for the stationary process.

    H(x_t | x_<t) falls to the limit, and H(x_t | x_<t, first state) rises to it. All beliefs are
    enumerated in float64 for growing t, until the bounds meet or there are more than 20,000.

    Args:
        chain: The process; a given first state is replaced by its long-run distribution.

    References:
        Cover and Thomas (2006), "Elements of Information Theory", theorem 4.5.1.
    """
    transitions = chain.noisy_transitions
    stationary = chain.stationary_probs
    unknown = _entropies(stationary[None], transitions)
    known = _entropies(np.diag(stationary), transitions)
    found = EntropyRate(0.0, float("inf"), 0)
    for tokens, (high, low) in enumerate(zip(unknown, known, strict=False)):
        found = EntropyRate(low, high, tokens)
        if high - low < _CLOSE or tokens == _MOST_TOKENS:
            break
    return found


def _entropies(
    joint: Float[np.ndarray, "beliefs states"],
    transitions: Float[np.ndarray, "vocab states states"],
) -> Iterator[float]:
    """Yield the mean entropy of the next token after 0, 1, … tokens.

    `joint` has a row for each belief before the first token: p(belief and state).
    """
    joint = joint[joint.sum(axis=1) > 0]
    while len(joint) <= _MOST_BELIEFS:
        check_in()
        probability = joint.sum(axis=1)
        with_token = joint @ transitions
        next_probs = with_token.sum(axis=2).T / probability[:, None]
        yield float(probability @ entropy(next_probs))
        rows = with_token.reshape(-1, joint.shape[1])
        rows = rows[rows.sum(axis=1) > 0]
        total = rows.sum(axis=1)
        _, group = np.unique(np.round(rows / total[:, None], _PLACES), axis=0, return_inverse=True)
        joint = np.zeros((group.max() + 1, joint.shape[1]))
        np.add.at(joint, group, rows)
