"""The best prediction from less than all of the visible tokens."""

import numpy as np
from jaxtyping import Int

from attnlab.generators import AbstractGenerator
from attnlab.optimum.best import Best
from attnlab.optimum.grouped import best_from_groups, best_from_sampled_groups
from attnlab.optimum.sequences import weighted_sequences

_SAMPLED = 20_000


def best_when_told(
    generator: AbstractGenerator,
    length: int,
    position: int,
    seen: tuple[int, ...],
    *,
    ordered: bool,
) -> Best:
    """The best prediction of the final token by someone at `position` who is told of `seen` alone.

    Without order that is the token at `position` and how often each one came. Exact where the
    sequences can be enumerated, else from a sample.
    """
    sequences = weighted_sequences(generator, length, sampled=_SAMPLED)
    told = _told(sequences.tokens, position, seen, ordered, generator.vocabulary.size)
    possible = sequences.weight > 0
    _, group = np.unique(told[possible], axis=0, return_inverse=True)
    final = sequences.probs[possible, -1]
    if not sequences.exact:
        return best_from_sampled_groups(group, final)
    return best_from_groups(group, final, sequences.weight[possible])


def _told(
    tokens: Int[np.ndarray, "sequences length"],
    position: int,
    seen: tuple[int, ...],
    ordered: bool,
    vocab: int,
) -> Int[np.ndarray, "sequences features"]:
    if ordered:
        return tokens[:, list(seen)]
    counts = (tokens[:, list(seen), None] == np.arange(vocab)).sum(axis=1)
    return np.concatenate([tokens[:, [position]], counts], axis=1)
