"""Sources of training batches, and the sequences that are held out for testing."""

import abc
import dataclasses
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from attnlab.generators import AbstractGenerator

# For programs that run once, for milliseconds. At this level LLVM takes half the time, and drawn
# tokens and weights have the same bits. Sums may be rounded differently, so programs that train or
# test do not use it.
_QUICKLY = MappingProxyType({"xla_backend_optimization_level": 1})


def compiled_quickly(function: Any) -> Any:
    """Compile a function like `eqx.filter_jit`, with few optimisations."""
    # The overloads leave out the options of `jax.jit`.
    return eqx.filter_jit(function, compiler_options=dict(_QUICKLY))  # pyright: ignore[reportCallIssue]


SPLITS = MappingProxyType(
    {
        "independent": "training and test sequences are independent draws and may coincide",
        "held out": "a fifth of all possible sequences is used only in tests (floor and ceiling "
        "refer to all sequences)",
        "distinct": "no two sequences are equal, so no test sequence is trained on (floor and "
        "ceiling refer to all sequences)",
    }
)
# One sequence in five is held out.
_ONE_IN = 5


def is_held_out(
    sequences: Int[np.ndarray, "some positions"], seed: int
) -> Bool[np.ndarray, " some"]:
    """Return which sequences are for testing, by a hash of their visible tokens and the seed.

    The last token, which is predicted, is not hashed: its distribution given the others is the same
    on both sides.
    """
    code = np.full(len(sequences), seed + 1, np.uint64)
    for tokens in sequences[:, :-1].T:
        # The constants and shifts of splitmix64 (Steele, Lea and Flood 2014).
        code = (code + tokens.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        code ^= code >> np.uint64(31)
    return code % np.uint64(_ONE_IN) == 0


def share_also_in(
    test: Int[np.ndarray, "test positions"], train_set: Int[np.ndarray, "size positions"]
) -> float:
    """Return the share of test sequences that are, token by token, in the training set too."""
    known = {row.tobytes() for row in train_set}
    return sum(row.tobytes() in known for row in test) / len(test)


class Example(NamedTuple):
    """Tokens that a model is trained and tested on; in a batch every part has a leading axis.

    Tokens in the loss mask count in loss and test; the others are only read. With a `final_law` the
    final token is any token with these probabilities: losses and tests are expectations over it. A
    batch with `weight`, which sums to 1, has its weighted sum as the loss instead of the mean.
    """

    tokens: Int[Array, "*batch time"]
    loss_mask: Bool[Array, "*batch time"]
    final_law: Float[Array, "*batch vocab"] | None = None
    weight: Float[Array, "*batch"] | None = None


def as_examples(
    tokens: Int[Array, "batch time"],
    loss_mask: Bool[Array, "batch time"] | None = None,
    *,
    prompt_length: int = 0,
) -> Example:
    """Return a batch with this loss mask, by default of all tokens after the prompt."""
    if loss_mask is None:
        loss_mask = jnp.broadcast_to(jnp.arange(tokens.shape[1]) >= prompt_length, tokens.shape)
    return Example(tokens, loss_mask)


class AbstractSource(eqx.Module):
    """A source of training batches."""

    @abc.abstractmethod
    def draw(self, key: Key[Array, ""]) -> Example:
        """Draw the batch of one step."""

    @abc.abstractmethod
    def with_batch(self, batch: int) -> "AbstractSource":
        """Return the same source with another batch size."""


class MinibatchSource(AbstractSource):
    """Random rows of a fixed training set, with replacement; loss mask as in `as_examples`."""

    sequences: Int[Array, "size positions"]
    batch: int = eqx.field(static=True)
    prompt_length: int = eqx.field(static=True, default=0)
    loss_mask: Bool[Array, "size positions"] | None = None

    def draw(self, key: Key[Array, ""]) -> Example:
        rows = jr.randint(key, (self.batch,), 0, self.sequences.shape[0])
        loss_mask = None if self.loss_mask is None else self.loss_mask[rows]
        return as_examples(self.sequences[rows], loss_mask, prompt_length=self.prompt_length)

    def with_batch(self, batch: int) -> "MinibatchSource":
        return dataclasses.replace(self, batch=batch)


class FullSource(AbstractSource):
    """The whole training set at every step; loss mask as in `as_examples`."""

    sequences: Int[Array, "size positions"]
    prompt_length: int = eqx.field(static=True, default=0)
    loss_mask: Bool[Array, "size positions"] | None = None

    def draw(self, key: Key[Array, ""]) -> Example:
        return as_examples(self.sequences, self.loss_mask, prompt_length=self.prompt_length)

    def with_batch(self, batch: int) -> "FullSource":
        return self


class FreshSource(AbstractSource):
    """New sequences from the generator at every step."""

    generator: AbstractGenerator = eqx.field(static=True)
    start: PyTree
    batch: int = eqx.field(static=True)
    length: int = eqx.field(static=True)

    def draw(self, key: Key[Array, ""]) -> Example:
        draw = partial(self.generator.draw, self.start, length=self.length)
        tokens = jax.vmap(draw)(jr.split(key, self.batch)).tokens
        has_mask = self.generator.has_loss_mask()
        return as_examples(tokens, jax.vmap(self.generator.loss_mask)(tokens) if has_mask else None)

    def with_batch(self, batch: int) -> "FreshSource":
        return dataclasses.replace(self, batch=batch)


class LawSource(AbstractSource):
    """All possible sequences at every step, in blocks: the parts have two leading axes."""

    blocks: Example

    def draw(self, key: Key[Array, ""]) -> Example:
        return self.blocks

    def with_batch(self, batch: int) -> "LawSource":
        return self
