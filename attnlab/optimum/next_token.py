"""The exact distribution of the token after a given sequence."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import quoted
from attnlab.generators import AbstractGenerator, log_predictives


@fixed_numerics()
def next_token(generator: AbstractGenerator, days: Sequence[int]) -> Float[np.ndarray, " vocab"]:
    """p(token after | `days`), the tokens of all visible positions.

    Refused: tokens that the process cannot produce, since nothing follows from them.
    """
    generator = generator.at_length(len(days))
    size = generator.vocabulary.size
    if not all(0 <= token < size for token in days):
        given = quoted(list(days))
        raise ValueError(f"`days` is {given}: tokens are numbers from 0 to {size - 1}.")
    rows = _rows(generator, days)
    for position, token in enumerate(days):
        if not rows[position, token] > 0:
            day, symbol = position + 1, quoted(generator.vocabulary.symbols[token])
            raise ValueError(
                f"`days` cannot happen: day {day} is never {symbol} after the days before it. "
                f"Change day {day} or an earlier one."
            )
    return rows[-1]


@fixed_numerics()
def sequence_log_prob(generator: AbstractGenerator, tokens: Sequence[int]) -> float:
    """log p(tokens) in nats, where they are the visible ones; -inf for those that cannot happen."""
    rows = _rows(generator.at_length(len(tokens)), tokens)
    chosen = rows[np.arange(len(tokens)), np.asarray(tokens, dtype=int)]
    if not (chosen > 0).all():
        return float("-inf")
    return float(np.log(chosen).sum())


def _rows(generator: AbstractGenerator, tokens: Sequence[int]) -> Float[np.ndarray, "rows vocab"]:
    # The token to predict is not looked at; any other in its place gives it a row.
    longer = jnp.array([*tokens, 0])
    return np.exp(np.asarray(log_predictives(generator, longer), dtype=np.float64))
