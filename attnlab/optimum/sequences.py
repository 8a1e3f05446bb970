"""Sequences with weights to average over: all of them, or a sample."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attnlab.generators import AbstractGenerator
from attnlab.optimum.levels import advance_beliefs, first_belief
from attnlab.optimum.sampled import predictives, sampled_sequences

# 3^10: more sequences than this take longer than a person waits.
MOST_SEQUENCES = 60_000


class Weighted(NamedTuple):
    """Visible tokens of many sequences, how much each counts, and what follows each beginning.

    `probs[s, t]` is p(token t | the tokens before it in sequence s). Weights sum to 1: exact
    probabilities if `exact`, else one over the number of sampled sequences.
    """

    tokens: Int[np.ndarray, "sequences length"]
    weight: Float[np.ndarray, " sequences"]
    probs: Float[np.ndarray, "sequences queries vocab"]
    exact: bool


def weighted_sequences(generator: AbstractGenerator, length: int, *, sampled: int) -> Weighted:
    """Every sequence, coded with the oldest token leading, if there are few enough; or a sample."""
    vocab = generator.vocabulary.size
    if vocab**length > MOST_SEQUENCES:
        tokens = sampled_sequences(generator, length, sampled)
        return Weighted(
            tokens, np.full(sampled, 1 / sampled), predictives(generator, tokens), exact=False
        )
    tokens = np.indices((vocab,) * length).reshape(length, -1).T
    beliefs, probs = first_belief(generator), np.empty((len(tokens), length + 1, vocab))
    for seen in range(length + 1):
        # Beginnings stand in the same order as the sequences that go on from them.
        next_probs, beliefs = advance_beliefs(generator, beliefs)
        probs[:, seen] = np.repeat(next_probs, vocab ** (length - seen), axis=0)
    return Weighted(tokens, np.exp(log_weights(tokens, probs)[:, -1]), probs, exact=True)


def log_weights(
    tokens: Int[np.ndarray, "sequences length"], probs: Float[np.ndarray, "sequences queries vocab"]
) -> Float[np.ndarray, "sequences beginnings"]:
    """log p(first t tokens) for t from 0 to the length; -inf for an impossible beginning."""
    chosen = np.take_along_axis(probs[:, :-1], tokens[:, :, None], axis=2)[:, :, 0]
    with np.errstate(divide="ignore"):
        steps = np.log(np.nan_to_num(chosen, nan=0.0))
    return np.concatenate([np.zeros((len(tokens), 1)), np.cumsum(steps, axis=1)], axis=1)
