"""`lstm`: a state and a memory that are carried from token to token, with gates; no attention."""

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

import equinox as eqx
from jaxtyping import Array, Float, Key

from attnlab.models.initialisation import Projection
from attnlab.models.recurrent.base import (
    AbstractRecurrent,
    AbstractRecurrentOptions,
    Carried,
    gated,
    zeros,
)


@dataclasses.dataclass(frozen=True)
class LSTMOptions(AbstractRecurrentOptions):
    """cₜ = f ⊙ cₜ₋₁ + i ⊙ g and hₜ = o ⊙ tanh cₜ from h₀ = c₀ = 0; logits of t + 1 = hₜ U + b.

    i, f, o = σ(W x + V h + b) and g = tanh(W′ x + V′ h + b′), where x is the token's one-hot
    vector. Hochreiter and Schmidhuber (1997), "Long short-term memory", with the forget gate of
    Gers et al. (2000).
    """

    name: ClassVar[str] = "lstm"
    summary: ClassVar[str] = (
        "Long short-term memory; it reads one token after another, without attention."
    )

    def parameter_formulas(self) -> Mapping[str, str]:
        return {
            "gates": "4 × (vocab + hidden_size + 1) × hidden_size",
            "unembedding": "(hidden_size + 1) × vocab",
        }

    def build(self, *, vocab: int, length: int, key: Key[Array, ""]) -> "LSTM":
        fields = gated(eqx.nn.LSTMCell, vocab=vocab, size=self.hidden_size, key=key)
        return LSTM(**fields)


class LSTM(AbstractRecurrent):
    """The recurrent network that `LSTMOptions` describes, with its weights."""

    vocab: int = eqx.field(static=True)
    gates: eqx.nn.LSTMCell
    unembedding: Projection

    def start(self) -> Carried:
        return zeros(self.gates.hidden_size, 2)

    def after(self, carried: Carried, token: Float[Array, " vocab"]) -> Carried:
        return self.gates(token, carried)
