"""Where the sequences of a training step come from."""

import abc
import dataclasses
from functools import partial

import equinox as eqx
import jax
import jax.random as jr
from jaxtyping import Array, Int, Key, PyTree

from attnlab.generators import AbstractGenerator, draw_days


class AbstractSource(eqx.Module):
    """Where the sequences of a training step come from."""

    @abc.abstractmethod
    def draw(self, key: Key[Array, ""]) -> Int[Array, "batch days"]:
        """The sequences of one step."""

    @abc.abstractmethod
    def with_batch(self, batch: int) -> "AbstractSource":
        """The same source with batches of another size."""


class MinibatchSource(AbstractSource):
    """Random rows of a fixed training set, with replacement."""

    sequences: Int[Array, "size days"]
    batch: int = eqx.field(static=True)

    def draw(self, key: Key[Array, ""]) -> Int[Array, "batch days"]:
        return self.sequences[jr.randint(key, (self.batch,), 0, self.sequences.shape[0])]

    def with_batch(self, batch: int) -> "MinibatchSource":
        return dataclasses.replace(self, batch=batch)


class FullSource(AbstractSource):
    """The whole training set every step."""

    sequences: Int[Array, "size days"]

    def draw(self, key: Key[Array, ""]) -> Int[Array, "batch days"]:
        return self.sequences

    def with_batch(self, batch: int) -> "FullSource":
        return self


class FreshSource(AbstractSource):
    """New sequences from the generator every step."""

    generator: AbstractGenerator = eqx.field(static=True)
    start: PyTree
    batch: int = eqx.field(static=True)
    days: int = eqx.field(static=True)

    def draw(self, key: Key[Array, ""]) -> Int[Array, "batch days"]:
        draw = partial(draw_days, self.generator, self.start, days=self.days)
        return jax.vmap(draw)(jr.split(key, self.batch))

    def with_batch(self, batch: int) -> "FreshSource":
        return dataclasses.replace(self, batch=batch)
