"""Estimates from sampled sequences, for processes too large to enumerate."""

from functools import partial

import jax
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.numerics import fixed_numerics, key_of
from attnlab.generators import AbstractGenerator, predictions_from, sample

# The standard error of a loss is then a few thousandths of a nat.
SAMPLES = 20_000
_BLOCK = 1_000
# Sampled figures are repeatable: the same question gets the same answer.
_SEED = 0
# What a run of that seed draws must not be part of the reference that it is held against. Larger
# than any number of sequences, since the keys of a split are those of small numbers folded in.
_REFERENCE = 2**31 + 1


def sampled_sequences(
    generator: AbstractGenerator, length: int, size: int = SAMPLES
) -> Int[np.ndarray, "size length"]:
    """A fixed sample of sequences, independent of those that any run draws."""
    key = jr.fold_in(key_of(_SEED), _REFERENCE)
    return np.asarray(sample(generator, key=key, size=size, length=length))


@fixed_numerics()
def predictives(
    generator: AbstractGenerator, sequences: Int[np.ndarray, "size length"]
) -> Float[np.ndarray, "size queries vocab"]:
    """p(token t | the t tokens before it) of every sequence, for t from 0 to the length itself.

    Rows after an impossible token are NaN.
    """
    # The token to predict is not looked at; any other in its place gives it a row.
    longer = np.concatenate([sequences, np.zeros_like(sequences[:, :1])], axis=1)
    log_probs = _log_predictives(generator, generator.start(), longer)
    return np.exp(np.asarray(log_probs, dtype=np.float64))


@partial(jax.jit, static_argnames="generator")
def _log_predictives(generator, start, sequences: Int[Array, "size positions"]):
    after = partial(predictions_from, generator, start)
    return jax.lax.map(after, sequences, batch_size=_BLOCK)


def mean_and_error(
    values: Float[np.ndarray, " size"],
) -> tuple[float, float]:
    """Mean of independent values and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))
