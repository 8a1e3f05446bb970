"""Starting values of weights and biases."""

from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Key

INITIALISATIONS = ("scaled", "published", "ones")

INITIALISATION_HELP = (
    "scaled: N(0, 1/inputs), biases 0; published: N(0, 1) for all; ones: all 1, so that all "
    "components start alike."
)


class Projection(NamedTuple):
    """An affine map x W + b of row vectors."""

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"]


def initial_projection(
    initialisation: str, *, key: Key[Array, ""], inputs: int, outputs: int
) -> Projection:
    """A projection at its starting values.

    `scaled`: weights N(0, 1/inputs), biases 0, so that outputs start at the size of the inputs
    (LeCun et al. 1998, "Efficient BackProp", equation 16). `published`: N(0, 1) for every weight
    and bias. `ones`: 1 for every weight and bias.
    """
    if initialisation == "ones":
        return Projection(jnp.ones((inputs, outputs)), jnp.ones(outputs))
    weight_key, bias_key = jr.split(key)
    weight = jr.normal(weight_key, (inputs, outputs))
    if initialisation == "published":
        return Projection(weight, jr.normal(bias_key, (outputs,)))
    return Projection(weight * inputs**-0.5, jnp.zeros(outputs))


def project(projection: Projection, rows: Float[Array, "rows inputs"]) -> Float[Array, "rows out"]:
    """x W + b for every row x."""
    return rows @ projection.weight + projection.bias[None, :]
