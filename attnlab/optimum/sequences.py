"""Weighted sequences to average over: all of them, or a sample."""

import math
from functools import partial
from typing import NamedTuple

import jax
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.numerics import fixed_numerics, key_of
from attnlab.generators import AbstractGenerator, loss_mask_of, predictions_from, sample
from attnlab.optimum.levels import advance_beliefs, first_belief

# The standard error of a loss is then a few thousandths of a nat.
SAMPLES = 20_000
_BLOCK = 1_000
# The size of all predictions of a sample: a quarter of a gigabyte.
_MOST_NUMBERS = 35_000_000
# Sampled numbers are reproducible: equal arguments give equal results.
_SEED = 0
# Keeps the sample apart from a run's own draws: it is larger than any number of sequences, while
# the keys of a split are those of small numbers folded in.
_REFERENCE = 2**31 + 1


def sampled_sequences(
    generator: AbstractGenerator, length: int, size: int = SAMPLES
) -> Int[np.ndarray, "size length"]:
    """Return a fixed sample of sequences, independent of those that any run draws.

    There are fewer than `size` if their predictions would not fit into memory.
    """
    size = min(size, _MOST_NUMBERS // ((length + 1) * generator.vocabulary.size))
    key = jr.fold_in(key_of(_SEED), _REFERENCE)
    return np.asarray(sample(generator, key=key, size=size, length=length))


@fixed_numerics()
def predictives(
    generator: AbstractGenerator, sequences: Int[np.ndarray, "size length"]
) -> Float[np.ndarray, "size queries vocab"]:
    """Return p(token t | the t tokens before it) of every sequence, for t from 0 to the length.

    Rows after an impossible token have no meaning.
    """
    # An appended token, whatever it is, adds the row that predicts it from the visible tokens.
    longer = np.concatenate([sequences, np.zeros_like(sequences[:, :1])], axis=1)
    log_probs = _log_predictives(generator, generator.start(), longer)
    return np.exp(np.asarray(log_probs, dtype=np.float64))


@partial(jax.jit, static_argnames="generator")
def _log_predictives(generator, start, sequences: Int[Array, "size positions"]):
    after = partial(predictions_from, generator, start)
    return jax.lax.map(after, sequences, batch_size=_BLOCK)


class Estimate(NamedTuple):
    """A number and its standard error, which is NaN if it is not known."""

    value: float
    stderr: float = math.nan

    def record(self) -> dict[str, float | None]:
        """Return it for JSON, which has no NaN: an error that is not known is None."""
        return {"value": self.value, "stderr": None if math.isnan(self.stderr) else self.stderr}


def mean_and_error(
    values: Float[np.ndarray, " size"], blocks: Int[np.ndarray, " size"] | None = None
) -> Estimate:
    """Return the mean of values and its standard error, NaN for a single value.

    The values are independent or, with `blocks`, values of the same block may depend on each other.
    The error is then that of the mean over g blocks, made wider so that ± 1.96 of it is the 95 %
    interval of Student's t with g − 1 degrees of freedom.

    References:
        Liang and Zeger 1986, "Longitudinal data analysis using generalized linear models", the
        variance of equation 4.
    """
    mean, size = float(values.mean()), values.size
    which = np.arange(size) if blocks is None else np.unique(blocks, return_inverse=True)[1]
    if (count := int(which.max()) + 1) == 1:
        return Estimate(mean)
    # Losses may be infinite; their error is NaN.
    with np.errstate(invalid="ignore"):
        if blocks is None:
            return Estimate(mean, float(values.std(ddof=1) / np.sqrt(size)))
        spread = np.sqrt((np.bincount(which, values - mean) ** 2).sum())
    # The import takes time, and few processes need it.
    from scipy.special import ndtri, stdtrit

    wider = stdtrit(count - 1, 0.975) / ndtri(0.975)
    return Estimate(mean, float(wider * spread * np.sqrt(count / (count - 1)) / size))


# 3^10: more sequences take too long.
MOST_SEQUENCES = 60_000


class Weighted(NamedTuple):
    """Visible tokens of many sequences, their weights, and the prediction after each prefix.

    `probs[s, t]` is p(token t | the tokens before it in sequence s). Weights sum to 1: exact
    probabilities if `exact`, otherwise one over the number of sampled sequences. Rows after an
    impossible token have no meaning.
    """

    tokens: Int[np.ndarray, "sequences length"]
    weight: Float[np.ndarray, " sequences"]
    probs: Float[np.ndarray, "sequences queries vocab"]
    exact: bool


def weighted_sequences(generator: AbstractGenerator, length: int, *, sampled: int) -> Weighted:
    """Return all sequences in lexicographic order if there are few; otherwise a sample.

    Without a law the sample is of the training sequences.
    """
    vocab = generator.vocabulary.size
    if vocab**length > MOST_SEQUENCES or not generator.has_law:
        tokens = sampled_sequences(generator, length, sampled)
        weight = np.full(len(tokens), 1 / len(tokens))
        return Weighted(tokens, weight, predictives(generator, tokens), exact=False)
    tokens = np.indices((vocab,) * length).reshape(length, -1).T
    beliefs, probs = first_belief(generator), np.empty((len(tokens), length + 1, vocab))
    for seen in range(length + 1):
        # Prefixes are in the same order as the sequences that continue them.
        next_probs, beliefs = advance_beliefs(generator, beliefs)
        probs[:, seen] = np.repeat(next_probs, vocab ** (length - seen), axis=0)
    return Weighted(tokens, np.exp(log_weights(tokens, probs)[:, -1]), probs, exact=True)


def mean_in_loss(
    generator: AbstractGenerator,
    tokens: Int[np.ndarray, "sequences length"],
    values: Float[np.ndarray, "sequences queries ..."],
) -> Float[np.ndarray, "sequences ..."]:
    """Average each sequence's values over the queries that predict tokens in the loss mask."""
    # The loss mask does not depend on the last token.
    longer = np.concatenate([tokens, np.zeros_like(tokens[:, :1])], axis=1)
    in_loss = np.asarray(loss_mask_of(generator, longer))
    return values[in_loss].reshape(len(tokens), -1, *values.shape[2:]).mean(axis=1)


def log_weights(
    tokens: Int[np.ndarray, "sequences length"], probs: Float[np.ndarray, "sequences queries vocab"]
) -> Float[np.ndarray, "sequences beginnings"]:
    """Return log p(first t tokens) for t from 0 to the length; -inf for an impossible prefix."""
    chosen = np.take_along_axis(probs[:, :-1], tokens[:, :, None], axis=2)[:, :, 0]
    with np.errstate(divide="ignore"):
        steps = np.log(np.nan_to_num(chosen, nan=0.0))
    return np.concatenate([np.zeros((len(tokens), 1)), np.cumsum(steps, axis=1)], axis=1)
