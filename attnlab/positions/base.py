"""What a positional encoding is, of either kind."""

import abc
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from attnlab.configuration.options import Options


class AbstractPosition(Options, abc.ABC):
    """An encoding of the positions of a sequence; its fields are its options."""

    name: ClassVar[str]
    summary: ClassVar[str]

    def tells_order(self, *, d_attn: int) -> bool:
        """Whether a head with queries and keys of that width learns the tokens' order by it."""
        return True


class AbstractInputPosition(AbstractPosition):
    """An encoding that gives the model features of each position beside the token's own."""

    trainable: ClassVar[bool]

    @abc.abstractmethod
    def table(
        self, *, length: int, width: int, key: Key[Array, ""]
    ) -> Float[Array, "length features"]:
        """Features of every position; `features` is `width` unless the scheme fixes it.

        `key` draws the starting values where `trainable`; other schemes do not use it.
        """


class AbstractScorePosition(AbstractPosition):
    """An encoding that acts where a query meets a key, and leaves the input alone."""

    @abc.abstractmethod
    def turn(
        self, vectors: Float[Array, "some d_attn"], positions: Int[Array, " some"]
    ) -> Float[Array, "some d_attn"]:
        """Queries or keys as they are compared, given where they stand."""

    @abc.abstractmethod
    def bias(
        self, queries: Int[Array, " query"], keys: Int[Array, " key"]
    ) -> Float[Array, "query key"]:
        """What is added to the scaled scores, given the positions of queries and keys."""

    def bias_of_head(
        self,
        queries: Int[Array, " query"],
        keys: Int[Array, " key"],
        *,
        head: int | Int[Array, ""],
        heads: int,
    ) -> Float[Array, "query key"]:
        """As `bias`, of the one that counts as `head` from 0 among the `heads` of a layer."""
        return self.bias(queries, keys)


def position_table(
    position: AbstractPosition, *, length: int, width: int, key: Key[Array, ""]
) -> Float[Array, "length features"]:
    """Input features of every position: those of `position`, or none for a score encoding."""
    if isinstance(position, AbstractInputPosition):
        return position.table(length=length, width=width, key=key)
    return jnp.zeros((length, 0))
