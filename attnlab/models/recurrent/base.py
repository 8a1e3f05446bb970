"""What recurrent families share: a state that is carried from token to token, without attention."""

import abc
import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from attnlab.configuration.options import option
from attnlab.models.base import HIDDEN_STATES, AbstractModel, AbstractModelOptions, Trace
from attnlab.models.initialisation import Projection, initial_projection, project

# What is carried: the state that is read out first, then whatever else a cell remembers.
Carried = tuple[Float[Array, " size"], ...]


@dataclasses.dataclass(frozen=True)
class AbstractRecurrentOptions(AbstractModelOptions):
    """Logits of token t + 1 = hₜ U + b, where hₜ is the state after token t, and h₀ = 0."""

    causal: ClassVar[bool] = True

    hidden_size: int = option(32, "Components of the state.", low=1, high=128)


class AbstractRecurrent(AbstractModel):
    """A model that reads token after token into a state of fixed size."""

    vocab: eqx.AbstractVar[int]
    unembedding: eqx.AbstractVar[Projection]

    @abc.abstractmethod
    def start(self) -> Carried:
        """What is carried before the first token."""

    @abc.abstractmethod
    def after(self, carried: Carried, token: Float[Array, " vocab"]) -> Carried:
        """What is carried after one more one-hot token."""

    def logits(self, states: Float[Array, "query size"]) -> Float[Array, "query vocab"]:
        """Those of the next token, from the states that are read out."""
        return project(self.unembedding, states)

    def inside(self) -> Mapping[str, Array]:
        """What a trace holds beside the states."""
        return {}

    def read(
        self,
        one_hot: Float[Array, "length vocab"],
        queries: Int[Array, " query"],
        *,
        source: Float[Array, "source vocab"] | None = None,
    ) -> tuple[Float[Array, "query vocab"], Trace]:
        def after_token(carried, token):
            carried = self.after(carried, token)
            return carried, carried[0]

        _, states = jax.lax.scan(after_token, self.start(), one_hot)
        return self.logits(states[queries]), Trace(values={HIDDEN_STATES: states, **self.inside()})


def gated(cell: type, *, vocab: int, size: int, key: Key[Array, ""]) -> dict[str, Any]:
    """The fields of a model with a cell of Equinox and a matrix behind it."""
    cell_key, unembedding_key = jr.split(key)
    return {
        "vocab": vocab,
        "gates": cell(vocab, size, key=cell_key),
        "unembedding": initial_projection(
            "scaled", key=unembedding_key, inputs=size, outputs=vocab
        ),
    }


def zeros(size: int, count: int = 1) -> Carried:
    """`count` vectors of zeros to begin with."""
    return tuple(jnp.zeros(size) for _ in range(count))
