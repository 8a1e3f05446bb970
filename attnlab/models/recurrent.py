"""`rnn`, `gru` and `lstm`: families that carry a state from token to token."""

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from attnlab.configuration.options import option
from attnlab.models.base import (
    HIDDEN_STATES,
    AbstractModel,
    AbstractModelOptions,
    Logits,
    OneHot,
    Queries,
    Trace,
)
from attnlab.models.parts import Projection, project, scaled_projection
from attnlab.models.sites import Activations, Carried, Edits


@dataclasses.dataclass(frozen=True)
class AbstractRecurrentOptions(AbstractModelOptions):
    """Logits of token t + 1 = hₜ U + b, where hₜ is the state after token t, and h₀ = 0."""

    causal: ClassVar[bool] = True

    hidden_size: int = option(32, "Width of the state.", low=1, high=128)


class AbstractRecurrent(AbstractModel):
    """A model that reads one token after the other into a state of fixed size."""

    vocab: eqx.AbstractVar[int]
    unembedding: eqx.AbstractVar[Projection]

    @abc.abstractmethod
    def start(self) -> Carried:
        """Return the carry before the first token."""

    @abc.abstractmethod
    def after(self, carried: Carried, token: Float[Array, " vocab"]) -> Carried:
        """Return the carry after one more one-hot token."""

    def read_out(
        self,
        states: Float[Array, "length size"],
        queries: Int[Array, " query"],
        inner: Activations,
    ) -> Float[Array, "query width"]:
        """Return the rows that the unembedding takes at the queries, by default the states."""
        return states[queries]

    def inside(self) -> Mapping[str, Array]:
        """Return the values of the trace besides the states."""
        return {}

    def read(
        self, one_hot: OneHot, queries: Queries, *, edits: Edits = (), capture: Sequence[str] = ()
    ) -> tuple[Logits, Trace]:
        """Return the logits and the states; the site "state" is the whole carry, concatenated."""
        inner = Activations(edits, capture)

        def after_token(carried, token):
            return self.after(carried, token), None

        _, states, _ = inner.scan("state", after_token, self.start(), one_hot)
        values = {HIDDEN_STATES: states, **self.inside()}
        logits = project(self.unembedding, self.read_out(states, queries, inner))
        return logits, Trace(values=values, residual=inner.kept)

    @property
    def sites(self) -> tuple[str, ...]:
        return ("state",)


CELLS = MappingProxyType(
    {
        "tanh": "h = tanh(x W + h V + b)",
        "gru": "with gates, as the family `gru`",
        "lstm": "with gates and a memory, as the family `lstm`",
    }
)
# Parameters of a cell of each kind, by number of inputs.
_FORMULAS = MappingProxyType(
    {
        "tanh": "({inputs} + hidden_size + 1) × hidden_size",
        "gru": "(3 × ({inputs} + hidden_size + 1) × hidden_size + hidden_size)",
        "lstm": "4 × ({inputs} + hidden_size + 1) × hidden_size",
    }
)


class TanhCell(eqx.Module):
    """h ← tanh(x W + h V + b); V starts as an orthogonal matrix."""

    inputs: Projection
    carried: Float[Array, "size size"]

    def __call__(self, x: Float[Array, " inputs"], h: Float[Array, " size"]):
        return jnp.tanh(x @ self.inputs.weight + self.inputs.bias + h @ self.carried)


AnyCell = TanhCell | eqx.nn.GRUCell | eqx.nn.LSTMCell


def start_of(cell: AnyCell, size: int) -> Carried:
    """Return the zeros that a cell starts from; the first array is the state."""
    return (jnp.zeros(size),) * (2 if isinstance(cell, eqx.nn.LSTMCell) else 1)


def advance_cell(cell: AnyCell, carried: Carried, x: Float[Array, " inputs"]) -> Carried:
    """Return the carry after the input x."""
    if isinstance(cell, eqx.nn.LSTMCell):
        return cell(x, (carried[0], carried[1]))
    return (cell(x, *carried),)


class Cell(eqx.Module):
    """A recurrent cell of a kind in `CELLS`."""

    kind: str = eqx.field(static=True)
    gates: AnyCell


def build_cell(kind: str, *, inputs: int, size: int, key: Key[Array, ""]) -> Cell:
    """Return an initialised cell."""
    if kind != "tanh":
        return Cell(
            kind, {"gru": eqx.nn.GRUCell, "lstm": eqx.nn.LSTMCell}[kind](inputs, size, key=key)
        )
    input_key, state_key = jr.split(key)
    return Cell(
        kind,
        TanhCell(
            scaled_projection(input_key, inputs, size),
            jax.nn.initializers.orthogonal()(state_key, (size, size)),
        ),
    )


def cell_formula(kind: str, inputs: str) -> str:
    """Return the number of parameters of a cell with that many inputs, as a formula."""
    return _FORMULAS[kind].format(inputs=inputs)


@dataclasses.dataclass(frozen=True)
class RNNOptions(AbstractRecurrentOptions):
    """hₜ = tanh(x W + hₜ₋₁ V + b) from h₀ = 0; logits of token t + 1 = hₜ U + b′.

    x is the token's one-hot vector. Elman (1990), "Finding structure in time". V starts as an
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
            inputs=scaled_projection(input_key, vocab, size),
            carried=jax.nn.initializers.orthogonal()(state_key, (size, size)),
            unembedding=scaled_projection(unembedding_key, size, vocab),
        )


class RNN(AbstractRecurrent):
    """The recurrent network that `RNNOptions` describes, with its weights."""

    vocab: int = eqx.field(static=True)
    inputs: Projection
    carried: Float[Array, "size size"]
    unembedding: Projection

    def start(self) -> Carried:
        return (jnp.zeros(len(self.carried)),)

    def after(self, carried: Carried, token: Float[Array, " vocab"]) -> Carried:
        (state,) = carried
        return (jnp.tanh(token @ self.inputs.weight + self.inputs.bias + state @ self.carried),)


@dataclasses.dataclass(frozen=True)
class GRUOptions(AbstractRecurrentOptions):
    """hₜ = (1 - z) ⊙ n + z ⊙ hₜ₋₁ from h₀ = 0; logits of token t + 1 = hₜ U + b.

    r, z = σ(W x + V h + b) and n = tanh(W′ x + b′ + r ⊙ (V′ h + c′)), where x is the token's
    one-hot vector. Cho et al. (2014), "Learning phrase representations", equations 5 to 8, with the
    reset gate after the matrix as in Equinox and PyTorch.
    """

    name: ClassVar[str] = "gru"
    summary: ClassVar[str] = (
        "Gated recurrent unit; it reads one token after another, without attention."
    )

    def parameter_formulas(self) -> Mapping[str, str]:
        # Its reset gate acts after a bias, so the candidate has two biases.
        return {
            "gates": "3 × (vocab + hidden_size + 1) × hidden_size + hidden_size",
            "unembedding": "(hidden_size + 1) × vocab",
        }

    def build(self, *, vocab: int, length: int, key: Key[Array, ""]) -> "Gated":
        return _gated(eqx.nn.GRUCell, self, vocab, key)


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

    def build(self, *, vocab: int, length: int, key: Key[Array, ""]) -> "Gated":
        return _gated(eqx.nn.LSTMCell, self, vocab, key)


class Gated(AbstractRecurrent):
    """The networks that `GRUOptions` and `LSTMOptions` describe, with their weights."""

    vocab: int = eqx.field(static=True)
    gates: eqx.nn.GRUCell | eqx.nn.LSTMCell
    unembedding: Projection

    def start(self) -> Carried:
        return start_of(self.gates, self.gates.hidden_size)

    def after(self, carried: Carried, token: Float[Array, " vocab"]) -> Carried:
        return advance_cell(self.gates, carried, token)


def _gated(cell: type, options: AbstractRecurrentOptions, vocab: int, key: Key[Array, ""]) -> Gated:
    cell_key, unembedding_key = jr.split(key)
    return Gated(
        vocab=vocab,
        gates=cell(vocab, options.hidden_size, key=cell_key),
        unembedding=scaled_projection(unembedding_key, options.hidden_size, vocab),
    )
