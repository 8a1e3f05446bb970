"""Where the examples of a training step come from."""

import abc
import dataclasses
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Int, Key, PyTree

from attnlab.generators import AbstractGenerator


class Example(NamedTuple):
    """What a model is trained and tested on; in a batch every part has a leading axis.

    `source` is read whole before the first of the `tokens`, and is of length 0 for a process that
    has none. The tokens that are `asked` count in loss and test; the others are only read.
    """

    source: Int[Array, "*batch source"]
    tokens: Int[Array, "*batch time"]
    asked: Bool[Array, "*batch time"]


def as_examples(tokens: Int[Array, "batch time"], *, given: int = 0) -> Example:
    """A batch without sources, all of whose tokens are asked but the first `given` ones."""
    return Example(
        source=jnp.zeros((tokens.shape[0], 0), jnp.int32),
        tokens=tokens,
        asked=jnp.broadcast_to(jnp.arange(tokens.shape[1]) >= given, tokens.shape),
    )


class AbstractSource(eqx.Module):
    """Where the examples of a training step come from."""

    @abc.abstractmethod
    def draw(self, key: Key[Array, ""]) -> Example:
        """The batch of one step."""

    @abc.abstractmethod
    def with_batch(self, batch: int) -> "AbstractSource":
        """The same source with batches of another size."""


class MinibatchSource(AbstractSource):
    """Random rows of a fixed training set, with replacement."""

    sequences: Int[Array, "size positions"]
    batch: int = eqx.field(static=True)
    given: int = eqx.field(static=True, default=0)

    def draw(self, key: Key[Array, ""]) -> Example:
        rows = jr.randint(key, (self.batch,), 0, self.sequences.shape[0])
        return as_examples(self.sequences[rows], given=self.given)

    def with_batch(self, batch: int) -> "MinibatchSource":
        return dataclasses.replace(self, batch=batch)


class FullSource(AbstractSource):
    """The whole training set every step."""

    sequences: Int[Array, "size positions"]
    given: int = eqx.field(static=True, default=0)

    def draw(self, key: Key[Array, ""]) -> Example:
        return as_examples(self.sequences, given=self.given)

    def with_batch(self, batch: int) -> "FullSource":
        return self


class FreshSource(AbstractSource):
    """New sequences from the generator every step."""

    generator: AbstractGenerator = eqx.field(static=True)
    start: PyTree
    batch: int = eqx.field(static=True)
    length: int = eqx.field(static=True)

    def draw(self, key: Key[Array, ""]) -> Example:
        draw = partial(self.generator.draw, self.start, length=self.length)
        tokens = jax.vmap(draw)(jr.split(key, self.batch))
        return as_examples(tokens, given=self.generator.given())

    def with_batch(self, batch: int) -> "FreshSource":
        return dataclasses.replace(self, batch=batch)
