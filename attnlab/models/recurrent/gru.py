"""`gru`: a state that is carried from token to token, with gates; no attention."""

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
class GRUOptions(AbstractRecurrentOptions):
    """hₜ = (1 - z) ⊙ n + z ⊙ hₜ₋₁ from h₀ = 0; logits of token t + 1 = hₜ U + b.

    r, z = σ(W x + V h + b) and n = tanh(W′ x + b′ + r ⊙ (V′ h + c′)), where x is the token's
    one-hot vector. Cho et al. (2014), "Learning phrase representations", equations 5 to 8, with
    the reset gate behind the matrix as in Equinox and PyTorch.
    """

    name: ClassVar[str] = "gru"
    summary: ClassVar[str] = (
        "Gated recurrent unit; it reads one token after another, without attention."
    )

    def parameter_formulas(self) -> Mapping[str, str]:
        # Its reset gate stands behind a bias, which the candidate has beside another.
        return {
            "gates": "3 × (vocab + hidden_size + 1) × hidden_size + hidden_size",
            "unembedding": "(hidden_size + 1) × vocab",
        }

    def build(self, *, vocab: int, length: int, key: Key[Array, ""]) -> "GRU":
        fields = gated(eqx.nn.GRUCell, vocab=vocab, size=self.hidden_size, key=key)
        return GRU(**fields)


class GRU(AbstractRecurrent):
    """The recurrent network that `GRUOptions` describes, with its weights."""

    vocab: int = eqx.field(static=True)
    gates: eqx.nn.GRUCell
    unembedding: Projection

    def start(self) -> Carried:
        return zeros(self.gates.hidden_size)

    def after(self, carried: Carried, token: Float[Array, " vocab"]) -> Carried:
        return (self.gates(token, *carried),)
