"""The exact law of a process as a table: every possible past with what follows from it."""

from collections.abc import Iterator
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import OptionError
from attnlab.generators import AbstractGenerator, check_has_law
from attnlab.optimum.law import possible_pasts
from attnlab.optimum.sequences import MOST_SEQUENCES

# A belief is certain if the rest has less than this, which is more than rounding.
_CERTAIN = 1e-5


class Past(NamedTuple):
    """A possible beginning of a sequence, and what the process does after it.

    `belief` is the probability of each hidden state after the past (of `hmm`, of the state which
    emits the next token), empty without such; `next_probs` is p(next token | past).
    """

    tokens: tuple[int, ...]
    probability: float
    belief: Float[np.ndarray, " states"]
    next_probs: Float[np.ndarray, " vocab"]


@fixed_numerics()
def exact_table(process: AbstractGenerator, length: int) -> Iterator[Past]:
    """Yield all possible pasts of 0 to `length` tokens, the shortest first, then in order.

    Raises:
        OptionError: If there are more than 60,000 sequences of this length, or no law.
    """
    check_has_law(process)
    vocab = process.vocabulary.size
    if vocab**length > MOST_SEQUENCES:
        problem = f"{vocab}^{length} pasts are more than the {MOST_SEQUENCES:,} of a table"
        raise OptionError("length", length, problem, "Choose a smaller length")
    for pasts in possible_pasts(process, length):
        states = np.empty((len(pasts.tokens), 0))
        if process.hidden_states:
            states = np.exp(np.asarray(jax.tree.leaves(pasts.beliefs)[0], dtype=np.float64))
        for place, tokens in enumerate(pasts.tokens.tolist()):
            probability = float(pasts.probability[place])
            yield Past(tuple(tokens), probability, states[place], pasts.next_probs[place])


def certain_after(process: AbstractGenerator, length: int) -> list[float]:
    """Return the probability that 0, 1, … `length` tokens determine one of several hidden states.

    A model need not infer a state that the last token shows.
    """
    found = [0.0] * (length + 1)
    for past in exact_table(process, length):
        if past.belief.max() > 1 - _CERTAIN:
            found[len(past.tokens)] += past.probability
    return found
