"""All that can be known after each day, with probabilities: exact by merging equal beliefs."""

import dataclasses
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from attnlab.generators import AbstractGenerator, Shared

# Beliefs are advanced in blocks of one size, so that one compiled program serves every level.
_BLOCK = 4_096
# 3^12: more distinct beliefs than this take longer than a person waits.
MOST_BELIEFS = 531_441


class TooManyBeliefsError(Exception):
    """There are more distinct beliefs than can be enumerated; estimate by sampling instead."""


class Level(NamedTuple):
    """Every belief that is possible after some days.

    `probability` is that of a sequence leading to the belief, `next_probs` p(next day | belief).
    """

    beliefs: PyTree
    probability: Float[np.ndarray, " beliefs"]
    next_probs: Float[np.ndarray, "beliefs vocab"]


def levels(generator: AbstractGenerator, days: int) -> Iterator[Level]:
    """The level after 0, 1, … `days` days.

    Two sequences with the same belief have the same future, so they are counted together; a
    process with a short memory has few beliefs at any length. Refused, with
    `TooManyBeliefsError`: a process with more than 3^12 distinct beliefs on some day.
    """
    beliefs = jax.tree.map(
        lambda leaf: leaf if isinstance(leaf, Shared) else np.asarray(leaf)[None],
        generator.start(),
        is_leaf=_is_shared,
    )
    probability = np.ones(1)
    previous: Level | None = None
    for day in range(days + 1):
        next_probs, successors = _advance(generator, beliefs)
        level = Level(beliefs, probability, next_probs)
        if previous is not None and _is_stationary(previous, level):
            for _ in range(day, days + 1):
                yield level
            return
        yield level
        previous = level
        if day < days:
            joint = (probability[:, None] * next_probs).ravel()
            beliefs, probability = _merge(successors, joint)


def _is_shared(leaf: Any) -> bool:
    return isinstance(leaf, Shared)


def _axes(beliefs: PyTree) -> PyTree:
    """For `vmap`: every part of a belief has a batch axis, except what all beliefs share."""
    return jax.tree.map(lambda leaf: None if _is_shared(leaf) else 0, beliefs, is_leaf=_is_shared)


def _advance(
    generator: AbstractGenerator, beliefs: PyTree
) -> tuple[Float[np.ndarray, "beliefs vocab"], PyTree]:
    """p(next | belief) of every belief, and the belief after every next day (belief-major)."""
    own = [leaf for leaf in jax.tree.leaves(beliefs, is_leaf=_is_shared) if not _is_shared(leaf)]
    size = len(own[0]) if own else 1
    probs, successors = [], []
    for first in range(0, size, _BLOCK):
        block = _map_own(lambda leaf, first=first: _padded(leaf[first : first + _BLOCK]), beliefs)
        log_probs, after = _advance_block(generator, block)
        kept = min(_BLOCK, size - first)
        probs.append(np.exp(np.asarray(log_probs[:kept], dtype=np.float64)))
        successors.append(_map_own(lambda leaf, kept=kept: np.asarray(leaf)[:kept], after))
    joined = jax.tree.map(
        lambda *leaves: leaves[0] if _is_shared(leaves[0]) else np.concatenate(leaves),
        *successors,
        is_leaf=_is_shared,
    )
    next_probs = np.concatenate(probs)
    flat = _map_own(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), joined)
    return next_probs / next_probs.sum(axis=1, keepdims=True), flat


def _map_own(function: Any, beliefs: PyTree) -> PyTree:
    return jax.tree.map(
        lambda leaf: leaf if _is_shared(leaf) else function(leaf), beliefs, is_leaf=_is_shared
    )


def _padded(rows: np.ndarray) -> np.ndarray:
    return np.concatenate([rows, np.repeat(rows[:1], _BLOCK - len(rows), axis=0)])


@partial(jax.jit, static_argnames="generator")
def _advance_block(generator, beliefs):
    tokens = jnp.arange(generator.vocabulary.size)
    axes = _axes(beliefs)

    def one(belief):
        after = jax.vmap(partial(generator.update, belief), out_axes=axes)(tokens)
        return generator.log_probs(belief), after

    return jax.vmap(one, in_axes=(axes,), out_axes=(0, axes))(beliefs)


def _merge(beliefs: PyTree, probability: Float[np.ndarray, " many"]):
    """Equal beliefs as one, with the sum of their probabilities; impossible ones left out."""
    possible = probability > 0
    beliefs = _map_own(lambda leaf: leaf[possible], beliefs)
    own = [leaf for leaf in jax.tree.leaves(beliefs, is_leaf=_is_shared) if not _is_shared(leaf)]
    rows = np.concatenate(
        [np.ascontiguousarray(leaf).reshape(len(leaf), -1).view(np.uint8) for leaf in own], axis=1
    )
    keys = np.ascontiguousarray(rows).view([("", np.void, rows.shape[1])]).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) > MOST_BELIEFS:
        raise TooManyBeliefsError
    merged = np.bincount(group, weights=probability[possible])
    return _map_own(lambda leaf: leaf[first], beliefs), merged


def _is_stationary(before: Level, after: Level) -> bool:
    """Whether one more day has changed nothing, and so no further day will."""
    if before.probability.shape != after.probability.shape:
        return False
    own = (
        np.array_equal(one, other)
        for one, other in zip(
            jax.tree.leaves(before.beliefs), jax.tree.leaves(after.beliefs), strict=True
        )
    )
    # The rounding of the float32 log-probabilities; they are all that a further day would change.
    return all(own) and np.allclose(before.probability, after.probability, rtol=1e-6, atol=0)


@dataclasses.dataclass(frozen=True)
class WithRecent(AbstractGenerator):
    """The same process, with a belief that also remembers the last `days` tokens."""

    name: ClassVar[str] = "with-recent"
    summary: ClassVar[str] = "A process whose belief carries its last days."

    generator: AbstractGenerator
    days: int

    @property
    def vocabulary(self):
        return self.generator.vocabulary

    def at_length(self, length: int) -> AbstractGenerator:
        return dataclasses.replace(self, generator=self.generator.at_length(length))

    def start(self) -> PyTree:
        return self.generator.start(), jnp.int32(0)

    def log_probs(self, belief: PyTree) -> Float[Array, " vocab"]:
        return self.generator.log_probs(belief[0])

    def update(self, belief: PyTree, token: Int[Array, ""]) -> PyTree:
        size = self.vocabulary.size
        recent = (belief[1] * size + token) % size**self.days
        return self.generator.update(belief[0], token), recent
