"""One step of a recurrent network of any kind, from a vector and what is carried."""

from types import MappingProxyType

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Key

from attnlab.models.initialisation import Projection, initial_projection
from attnlab.models.recurrent.base import Carried, zeros

CELLS = MappingProxyType(
    {
        "tanh": "h = tanh(x W + h V + b)",
        "gru": "with gates, as the family `gru`",
        "lstm": "with gates and a memory, as the family `lstm`",
    }
)
# Parameters of a cell of each kind with so many inputs.
_FORMULAS = MappingProxyType(
    {
        "tanh": "({inputs} + hidden_size + 1) × hidden_size",
        "gru": "(3 × ({inputs} + hidden_size + 1) × hidden_size + hidden_size)",
        "lstm": "4 × ({inputs} + hidden_size + 1) × hidden_size",
    }
)


class TanhCell(eqx.Module):
    """h ← tanh(x W + h V + b); V begins as an orthogonal matrix."""

    inputs: Projection
    carried: Float[Array, "size size"]

    def __call__(self, x: Float[Array, " inputs"], h: Float[Array, " size"]):
        return jnp.tanh(x @ self.inputs.weight + self.inputs.bias + h @ self.carried)


class Cell(eqx.Module):
    """A recurrent cell of a name of `CELLS`; what it carries begins with the state."""

    kind: str = eqx.field(static=True)
    gates: TanhCell | eqx.nn.GRUCell | eqx.nn.LSTMCell

    def start(self, size: int) -> Carried:
        return zeros(size, 2 if self.kind == "lstm" else 1)

    def after(self, carried: Carried, x: Float[Array, " inputs"]) -> Carried:
        if self.kind == "lstm":
            return self.gates(x, carried)
        return (self.gates(x, *carried),)


def build_cell(kind: str, *, inputs: int, size: int, key: Key[Array, ""]) -> Cell:
    """A cell at its starting values."""
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
    """How many parameters a cell with that many inputs has."""
    return _FORMULAS[kind].format(inputs=inputs)
