"""What is inside a model on many sequences at once."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.models.base import AbstractModel, Trace


class Picture(NamedTuple):
    """The inside of a model on some sequences: the patterns of each, see `Trace`.

    The weights of a linear model do not depend on the sequence and stand here once.
    """

    patterns: Float[np.ndarray, "sequences layers heads query key"]
    weights: Float[np.ndarray, "length vocab outcomes"]


def take_picture(
    model: AbstractModel, sequences: Int[Array | np.ndarray, "sequences length"]
) -> Picture:
    """Patterns at every query of every sequence."""
    patterns, weights = _inside(model, jnp.asarray(sequences))
    return Picture(np.asarray(patterns), np.asarray(weights))


@eqx.filter_jit
def _inside(model, sequences):
    queries = jnp.arange(sequences.shape[1])
    trace: Trace = jax.vmap(lambda tokens: model(tokens, queries)[1])(sequences)
    return trace.patterns, trace.weights[0]
