"""`rnn`, `gru` and `lstm`: families that carry a state from token to token."""

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from attnlab.configuration.options import option
from attnlab.models.base import HIDDEN_STATES, AbstractModel, AbstractModelOptions, Trace
from attnlab.models.parts import Projection, initial_projection, project
from attnlab.models.sites import Activations, Carried, Edit


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
        self,
        one_hot: Float[Array, "length vocab"],
        queries: Int[Array, " query"],
        *,
        edits: Sequence[Edit] = (),
        capture: Sequence[str] = (),
    ) -> tuple[Float[Array, "query vocab"], Trace]:
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


def gated(cell: type, *, vocab: int, size: int, key: Key[Array, ""]) -> dict[str, Any]:
    """Return the fields of a model that consists of an Equinox cell and an unembedding."""
    cell_key, unembedding_key = jr.split(key)
    return {
        "vocab": vocab,
        "gates": cell(vocab, size, key=cell_key),
        "unembedding": initial_projection(
            "scaled", key=unembedding_key, inputs=size, outputs=vocab
        ),
    }


def zeros(size: int, count: int = 1) -> Carried:
    """Return `count` vectors of zeros to start from."""
    return tuple(jnp.zeros(size) for _ in range(count))


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


class Cell(eqx.Module):
    """A recurrent cell of a kind in `CELLS`; the first array of its carry is the state."""

    kind: str = eqx.field(static=True)
    gates: TanhCell | eqx.nn.GRUCell | eqx.nn.LSTMCell

    def start(self, size: int) -> Carried:
        return zeros(size, 2 if self.kind == "lstm" else 1)

    def after(self, carried: Carried, x: Float[Array, " inputs"]) -> Carried:
        if isinstance(self.gates, eqx.nn.LSTMCell):
            return self.gates(x, (carried[0], carried[1]))
        return (self.gates(x, *carried),)


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
            initial_projection("scaled", key=input_key, inputs=inputs, outputs=size),
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
