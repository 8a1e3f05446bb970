"""The law of a process as data: every possible past of one length, with its probability."""

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, PyTree

from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import OptionError
from attnlab.generators import AbstractGenerator
from attnlab.optimum.levels import advance_beliefs, first_belief, map_own
from attnlab.optimum.sequences import MOST_SEQUENCES

# An experiment has at least this many visible tokens.
_SHORTEST = 2


class Pasts(NamedTuple):
    """All possible pasts of one length, in lexicographic order.

    `token_probs[s, t]` is p(token t | the tokens before it) in past s, and `next_probs[s]` is
    p(next token | past s). The probabilities sum to 1.
    """

    tokens: Int[np.ndarray, "pasts length"]
    probability: Float[np.ndarray, " pasts"]
    token_probs: Float[np.ndarray, "pasts length"]
    next_probs: Float[np.ndarray, "pasts vocab"]
    beliefs: PyTree = None


class TooManyPastsError(Exception):
    """There are `count` pasts of `length` tokens, more than can be enumerated."""

    def __init__(self, length: int, count: int):
        self.length, self.count = length, count
        super().__init__(length, count)


def possible_pasts(
    process: AbstractGenerator, length: int, most: int = MOST_SEQUENCES
) -> Iterator[Pasts]:
    """Yield the possible pasts of 0, 1, … `length` tokens.

    Raises:
        TooManyPastsError: If more than `most` pasts of one length are possible.
    """
    vocab, beliefs = process.vocabulary.size, first_belief(process)
    tokens, probability, token_probs = np.empty((1, 0), int), np.ones(1), np.empty((1, 0))
    for seen in range(length + 1):
        next_probs, after = advance_beliefs(process, beliefs)
        yield Pasts(tokens, probability, token_probs, next_probs, beliefs)
        joint = (probability[:, None] * next_probs).ravel()
        kept = np.flatnonzero(joint > 0)
        if seen < length and len(kept) > most:
            raise TooManyPastsError(seen + 1, len(kept))
        before, token = np.divmod(kept, vocab)
        probability, beliefs = joint[kept], map_own(lambda leaf, rows=kept: leaf[rows], after)
        tokens = np.column_stack([tokens[before], token])
        token_probs = np.column_stack([token_probs[before], next_probs.ravel()[kept]])


def law_of(process: AbstractGenerator, length: int) -> Pasts:
    """Return all possible pasts of `length` tokens, each with the exact law of the next token.

    The process is one at this length, as of an experiment.

    Raises:
        OptionError: If the process has no law, or more than 60,000 pasts of this length.
    """
    found = _enumerated(process, length) if process.has_law else None
    if isinstance(found, Pasts):
        return found
    if found is None:
        problem, remedy = f"the process '{process.name}' has no law", "Choose 'fixed' or 'fresh'"
    else:
        problem = (
            f"'{process.name}' has {found.count:,} possible pasts of {found.length} tokens, more "
            f"than the {MOST_SEQUENCES:,} of a batch"
        )
        longest = _longest(process, found.length)
        shorter = f"a `length` of at most {longest}" if longest else "a smaller process"
        remedy = f"Choose {shorter}, or 'fresh'"
    raise OptionError("data", "law", problem, remedy)


def _longest(process: AbstractGenerator, length: int) -> int | None:
    """Return the largest length below this one at which all pasts can be enumerated, if any."""
    if process.own_length() is not None:
        return None
    for shorter in range(length - 1, max(_SHORTEST, process.shortest_length()) - 1, -1):
        if isinstance(_enumerated(process.at_length(shorter), shorter), Pasts):
            return shorter
    return None


# An experiment is checked at every rerun of a page. One law takes some megabytes.
@functools.lru_cache(maxsize=8)
@fixed_numerics()
def _enumerated(process: AbstractGenerator, length: int) -> Pasts | TooManyPastsError:
    try:
        *_, last = possible_pasts(process, length)
    except TooManyPastsError as error:
        # Its frames hold every past so far.
        return error.with_traceback(None)
    return last._replace(beliefs=None)
