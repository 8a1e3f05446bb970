"""All possible beliefs after each token, with exact probabilities; equal ones are merged."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, PyTree

from attnlab.configuration.cancellation import check_in
from attnlab.configuration.options import OptionError
from attnlab.generators import AbstractGenerator
from attnlab.generators.base import join_shared, split_shared

# Beliefs are advanced in blocks of one size, so that one compiled program serves every level.
_BLOCK = 4_096
# 3^12: more distinct beliefs take too long.
MOST_BELIEFS = 531_441
# Few enough to be enumerated in a second or two.
FEW_BELIEFS = 60_000
# A level is repeated for all remaining tokens once a token changes no probability by more than this
# share. Even if each remaining token changed as much, the results would keep their precision.
_ROUNDED, _STILL = 1e-6, 1e-12


class TooManyBeliefsError(Exception):
    """There are more distinct beliefs than can be enumerated; estimate by sampling instead."""


class Level(NamedTuple):
    """All beliefs that are possible after some number of tokens.

    `recent` codes the last tokens, with the oldest as the leading digit. `probability` is that of
    the belief together with these tokens, and `next_probs` is p(next token | belief).
    """

    beliefs: PyTree
    recent: Int[np.ndarray, " beliefs"]
    probability: Float[np.ndarray, " beliefs"]
    next_probs: Float[np.ndarray, "beliefs vocab"]


def levels(
    generator: AbstractGenerator, length: int, *, most: int | None = None, recent: int = 0
) -> Iterator[Level]:
    """Yield the level after 0, 1, … `length` tokens.

    Two sequences with the same belief have the same future, so they are merged unless their last
    `recent` tokens differ. A process with a short memory has few beliefs at any length. Raises
    `TooManyBeliefsError` if a level has more than `most` beliefs, by default 3^12, and without a
    law: beliefs are then those of a reference predictor, not of what draws the sequences.
    """
    if not generator.has_law:
        raise TooManyBeliefsError
    most = MOST_BELIEFS if most is None else min(most, MOST_BELIEFS)
    vocab = generator.vocabulary.size
    # A process known to be stationary only changes by the rounding of float32 log-probabilities.
    still = _ROUNDED if generator.is_stationary() else _STILL
    beliefs = first_belief(generator)
    code, probability = np.zeros(1, dtype=int), np.ones(1)
    previous: Level | None = None
    for seen in range(length + 1):
        next_probs, successors = advance_beliefs(generator, beliefs)
        level = Level(beliefs, code, probability, next_probs)
        if previous is not None and _is_unchanged(previous, level, still):
            for _ in range(seen, length + 1):
                yield level
            return
        yield level
        previous = level
        if seen < length:
            joint = (probability[:, None] * next_probs).ravel()
            codes = (code[:, None] * vocab + np.arange(vocab)).ravel() % vocab**recent
            (beliefs, code), probability = _merge((successors, codes), joint, most)


def first_belief(generator: AbstractGenerator) -> PyTree:
    """Return the belief before any token, as a batch of one.

    Raises:
        OptionError: If the belief has no array outside its `Shared` parts.
    """
    belief = generator.start()
    if not jax.tree.leaves(split_shared(belief)[0]):
        remedy = "Return a constant such as `jnp.zeros(())` if all tokens are independent"
        raise OptionError("start", belief, "a belief without an array", remedy)
    return map_own(lambda leaf: np.asarray(leaf)[None], belief)


def advance_beliefs(
    generator: AbstractGenerator, beliefs: PyTree
) -> tuple[Float[np.ndarray, "beliefs vocab"], PyTree]:
    """Return p(next | belief), and the next beliefs, ordered by belief and then by token."""
    log_probs, after = in_blocks(_advance_block, generator, beliefs)
    next_probs = np.exp(np.asarray(log_probs, dtype=np.float64))
    after = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), after)
    total = next_probs.sum(axis=1, keepdims=True)
    return next_probs / np.where(total > 0, total, 1), join_shared(after, split_shared(beliefs)[1])


def in_blocks(function: Callable[..., PyTree], generator: AbstractGenerator, beliefs: PyTree):
    """Return a compiled function of all beliefs, computed in blocks of one size.

    Args:
        function: Takes the process, the parts of a block of beliefs that have a batch axis, and the
            shared parts. Its results have the batch axis first.
        generator: The process.
        beliefs: Its beliefs.
    """
    own, shared = split_shared(beliefs)
    size = len(jax.tree.leaves(own)[0])
    found = []
    for first in range(0, size, _BLOCK):
        check_in()
        block = jax.tree.map(lambda leaf, first=first: _padded(leaf[first : first + _BLOCK]), own)
        kept = min(_BLOCK, size - first)
        # Sliced as NumPy arrays: JAX would compile a program for every size.
        result = function(generator, block, shared)
        found.append(jax.tree.map(lambda leaf, kept=kept: np.asarray(leaf)[:kept], result))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *found)


@partial(jax.jit, static_argnames="generator")
def references_of_block(generator, own, shared):
    """Return the log-probabilities of the process's `references`, for `in_blocks`."""
    return jax.vmap(lambda own: generator.references(join_shared(own, shared)))(own)


def map_own(function: Callable, beliefs: PyTree) -> PyTree:
    """Apply a function to the arrays of beliefs outside their `Shared` parts."""
    own, shared = split_shared(beliefs)
    return join_shared(jax.tree.map(function, own), shared)


def _padded(rows: np.ndarray) -> np.ndarray:
    return np.concatenate([rows, np.repeat(rows[:1], _BLOCK - len(rows), axis=0)])


@partial(jax.jit, static_argnames="generator")
def _advance_block(generator, own, shared):
    tokens = jnp.arange(generator.vocabulary.size)

    def after(belief, token):
        # Shared parts may be large, and would be copied on return.
        return split_shared(generator.update(belief, token))[0]

    def one(own):
        belief = join_shared(own, shared)
        return generator.log_probs(belief), jax.vmap(partial(after, belief))(tokens)

    return jax.vmap(one)(own)


def _merge(beliefs: PyTree, probability: Float[np.ndarray, " many"], most: int):
    """Merge equal beliefs, adding their probabilities; drop impossible ones."""
    possible = probability > 0
    beliefs = map_own(lambda leaf: leaf[possible], beliefs)
    own = jax.tree.leaves(split_shared(beliefs)[0])
    rows = np.concatenate(
        [np.ascontiguousarray(leaf).reshape(len(leaf), -1).view(np.uint8) for leaf in own], axis=1
    )
    keys = np.ascontiguousarray(rows).view([("", np.void, rows.shape[1])]).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) > most:
        raise TooManyBeliefsError
    merged = np.bincount(group, weights=probability[possible])
    return map_own(lambda leaf: leaf[first], beliefs), merged


def _is_unchanged(before: Level, after: Level, still: float) -> bool:
    """Return whether one more token changed no probability by more than the share `still`."""
    if before.probability.shape != after.probability.shape:
        return False
    leaves = [jax.tree.leaves((level.beliefs, level.recent)) for level in (before, after)]
    same = all(np.array_equal(one, other) for one, other in zip(*leaves, strict=True))
    return same and np.allclose(before.probability, after.probability, rtol=still, atol=0)
