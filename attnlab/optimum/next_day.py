"""The exact distribution of the day after a given sequence."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from attnlab.configuration.options import quoted
from attnlab.generators import AbstractGenerator, log_predictives


def next_day(generator: AbstractGenerator, days: Sequence[int]) -> Float[np.ndarray, " vocab"]:
    """p(day after | days), where no other days are visible.

    Refused: days that the process cannot produce, since nothing follows from them.
    """
    generator = generator.at_length(len(days))
    size = generator.vocabulary.size
    if not all(0 <= token < size for token in days):
        given = quoted(list(days))
        raise ValueError(f"`days` is {given}: tokens are numbers from 0 to {size - 1}.")
    rows = _rows(generator, days)
    for day, token in enumerate(days):
        if not rows[day, token] > 0:
            symbol = quoted(generator.vocabulary.symbols[token])
            raise ValueError(
                f"`days` cannot happen: day {day + 1} is never {symbol} after the days before it. "
                f"Change day {day + 1} or an earlier one."
            )
    return rows[-1]


def sequence_log_prob(generator: AbstractGenerator, days: Sequence[int]) -> float:
    """log p(days) in nats, where they are the visible days; -inf for days that cannot happen."""
    rows = _rows(generator.at_length(len(days)), days)
    chosen = rows[np.arange(len(days)), np.asarray(days, dtype=int)]
    if not (chosen > 0).all():
        return float("-inf")
    return float(np.log(chosen).sum())


def _rows(generator: AbstractGenerator, days: Sequence[int]) -> Float[np.ndarray, "rows vocab"]:
    # The day to predict is not looked at; any token in its place gives it a row.
    longer = jnp.array([*days, 0])
    return np.exp(np.asarray(log_predictives(generator, longer), dtype=np.float64))
