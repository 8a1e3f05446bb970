"""The nonlinear functions that hidden layers may have, by name."""

from types import MappingProxyType

import jax
import jax.numpy as jnp

ACTIVATIONS = MappingProxyType(
    {"gelu": jax.nn.gelu, "relu": jax.nn.relu, "silu": jax.nn.silu, "tanh": jnp.tanh}
)
ACTIVATION_HELP = "The nonlinear function of the hidden layers."
