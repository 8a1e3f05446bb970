"""`gru`: a state that is carried from token to token, with gates; no attention."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from attnlab.configuration.options import option
from attnlab.models.base import HIDDEN_STATES, AbstractModel, AbstractModelOptions, Trace
from attnlab.models.initialisation import Projection, initial_projection, project


@dataclasses.dataclass(frozen=True)
class GRUOptions(AbstractModelOptions):
    """hₜ = (1 - z) ⊙ n + z ⊙ hₜ₋₁ from h₀ = 0; logits of token t + 1 = hₜ U + b.

    r, z = σ(W x + V h + b) and n = tanh(W′ x + b′ + r ⊙ (V′ h + c′)), where x is the token's
    one-hot vector. Cho et al. (2014), "Learning phrase representations", equations 5 to 8, with
    the reset gate behind the matrix as in Equinox and PyTorch.
    """

    name: ClassVar[str] = "gru"
    summary: ClassVar[str] = (
        "Gated recurrent unit; it reads one day after another, without attention."
    )
    causal: ClassVar[bool] = True

    hidden_size: int = option(32, "Components of the state.", low=1, high=128)

    def build(self, *, vocab: int, length: int, key: Key[Array, ""]) -> "GRU":
        cell_key, unembedding_key = jr.split(key)
        return GRU(
            vocab=vocab,
            gates=eqx.nn.GRUCell(vocab, self.hidden_size, key=cell_key),
            unembedding=initial_projection(
                "scaled", key=unembedding_key, inputs=self.hidden_size, outputs=vocab
            ),
        )


class GRU(AbstractModel):
    """The recurrent network that `GRUOptions` describes, with its weights."""

    vocab: int = eqx.field(static=True)
    gates: eqx.nn.GRUCell
    unembedding: Projection

    def read(
        self,
        one_hot: Float[Array, "length vocab"],
        queries: Int[Array, " query"],
        *,
        source: Float[Array, "source vocab"] | None = None,
    ) -> tuple[Float[Array, "query vocab"], Trace]:
        def after_token(state, token):
            state = self.gates(token, state)
            return state, state

        _, states = jax.lax.scan(after_token, jnp.zeros(self.gates.hidden_size), one_hot)
        logits = project(self.unembedding, states[queries])
        return logits, Trace(values={HIDDEN_STATES: states})
