"""The sequence of a film: what a model reads, which positions decide, and what comes next."""

import functools
from collections.abc import Collection
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from attnlab.generators import AbstractGenerator, is_task, log_predictives
from attnlab.inspection import final_probs, probs_by_query
from attnlab.models import AbstractModel
from attnlab.training.experiment import Experiment


class ShownSequence(NamedTuple):
    """A sequence of visible tokens, of which a model predicts the next one.

    Attributes:
        tokens: All tokens that the model reads.
        seen: How many of them the prediction may use.
        query: The position, from 0, that predicts.
        marked: The positions that the true prediction depends on, from 1.
        number: The position of the predicted token, from 1; in a task, within the target.
    """

    tokens: Int[np.ndarray, " length"]
    seen: int
    query: int
    marked: tuple[int, ...]
    number: int

    def probs(self, experiment: Experiment, model: AbstractModel) -> Float[np.ndarray, " vocab"]:
        """Return the model's probability of every token of the vocabulary."""
        if self.seen < len(self.tokens) or experiment.generator.prompt_length():
            return probs_by_query(model, self.tokens[None])[0, self.seen - 1]
        return final_probs(model, self.tokens[None], experiment.training.readout)[0]


def shown_sequence(
    experiment: Experiment, tokens: Int[np.ndarray, " length"], informative: Collection[int]
) -> ShownSequence:
    """Return what to show of the visible tokens of a sequence.

    `informative` are the positions, from 1, that the prediction depends on in all sequences. In a
    task, and where each sequence has its own sources, these replace them.
    """
    process, given = experiment.generator, tuple(map(int, tokens))
    prompt, marked = process.prompt_length(), tuple(sorted(informative))
    seen = prompt or _read_until(process, given)
    if is_task(process):
        aligned = np.asarray(process.true_alignment(jnp.asarray(tokens[:prompt])))[0]
        marked = tuple(int(place) + 1 for place in np.flatnonzero(aligned))
    elif (sources := final_sources(process, given[:seen])) is not None:
        marked = sources
    return ShownSequence(
        tokens=tokens,
        seen=seen,
        query=seen - 1 if prompt or seen < len(tokens) else experiment.read_position,
        marked=marked,
        number=1 if prompt else seen + 1,
    )


def true_probs(
    generator: AbstractGenerator, tokens: tuple[int, ...]
) -> Float[np.ndarray, "positions vocab"]:
    """Return p(next token | the first t tokens) in row t."""
    # With one token more than is visible, row t exists for all of them.
    padded = jnp.asarray((*tokens, 0))
    return np.exp(np.asarray(log_predictives(generator.at_length(len(tokens)), padded)))


def likely_tokens(probs: Float[np.ndarray, " vocab"], most: int) -> list[int]:
    """Return the most probable tokens that are possible, at most `most` of them."""
    return [int(token) for token in np.argsort(-probs, kind="stable")[:most] if probs[token] > 0]


def true_sources_of(
    experiment: Experiment, tokens: Int[np.ndarray, " length"]
) -> Bool[np.ndarray, "query key"] | None:
    """Return the positions that each next token in the loss is read from, if they are defined."""
    process = experiment.generator.at_length(experiment.length)
    sources = process.true_sources(jnp.asarray(tokens))
    if sources is None:
        return None
    # The loss mask does not depend on the last token.
    mask = process.loss_mask(jnp.append(jnp.asarray(tokens), 0))
    return np.asarray(sources if mask is None else sources & mask[1:, None])


@functools.lru_cache(64)
def final_sources(generator: AbstractGenerator, tokens: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the positions, from 1, that this sequence's final prediction is read from.

    The result is None unless each sequence has its own sources.
    """
    sources = generator.at_length(len(tokens)).true_sources(jnp.asarray(tokens))
    return None if sources is None else tuple(map(int, np.flatnonzero(sources[-1]) + 1))


@functools.lru_cache(64)
def _read_until(generator: AbstractGenerator, tokens: tuple[int, ...]) -> int:
    """Return the number of tokens before the last one in the loss; all if none is."""
    mask = generator.at_length(len(tokens)).loss_mask(jnp.asarray((*tokens, 0)))
    return len(tokens) if mask is None or not mask.any() else int(np.flatnonzero(mask)[-1])
