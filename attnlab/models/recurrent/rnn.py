"""`rnn`: a state that is carried from token to token through one tanh; no attention."""

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Key

from attnlab.models.initialisation import Projection, initial_projection
from attnlab.models.recurrent.base import (
    AbstractRecurrent,
    AbstractRecurrentOptions,
    Carried,
    zeros,
)


@dataclasses.dataclass(frozen=True)
class RNNOptions(AbstractRecurrentOptions):
    """hₜ = tanh(x W + hₜ₋₁ V + b) from h₀ = 0; logits of token t + 1 = hₜ U + b′.

    x is the token's one-hot vector. Elman (1990), "Finding structure in time". V begins as an
    orthogonal matrix, which neither grows nor shrinks a state (Henaff et al. 2016).
    """

    name: ClassVar[str] = "rnn"
    summary: ClassVar[str] = "Recurrent network (tanh); one token after another, without attention."

    def parameter_formulas(self) -> Mapping[str, str]:
        return {
            "inputs": "(vocab + 1) × hidden_size",
            "carried": "hidden_size × hidden_size",
            "unembedding": "(hidden_size + 1) × vocab",
        }

    def build(self, *, vocab: int, length: int, key: Key[Array, ""]) -> "RNN":
        input_key, state_key, unembedding_key = jr.split(key, 3)
        size = self.hidden_size
        return RNN(
            vocab=vocab,
            inputs=initial_projection("scaled", key=input_key, inputs=vocab, outputs=size),
            carried=jax.nn.initializers.orthogonal()(state_key, (size, size)),
            unembedding=initial_projection(
                "scaled", key=unembedding_key, inputs=size, outputs=vocab
            ),
        )


class RNN(AbstractRecurrent):
    """The recurrent network that `RNNOptions` describes, with its weights."""

    vocab: int = eqx.field(static=True)
    inputs: Projection
    carried: Float[Array, "size size"]
    unembedding: Projection

    def start(self) -> Carried:
        return zeros(len(self.carried))

    def after(self, carried: Carried, token: Float[Array, " vocab"]) -> Carried:
        (state,) = carried
        return (jnp.tanh(token @ self.inputs.weight + self.inputs.bias + state @ self.carried),)
