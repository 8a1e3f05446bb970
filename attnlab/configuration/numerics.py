"""The settings of JAX that numbers depend on, fixed regardless of the environment."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import MappingProxyType

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Key

_KEY_KIND = "threefry2x32"
# JAX's defaults, which a user may change for other programs in the same process.
_SETTINGS = MappingProxyType(
    {
        "enable_x64": False,
        "default_prng_impl": _KEY_KIND,
        "threefry_partitionable": True,
        "default_matmul_precision": None,
        "numpy_dtype_promotion": "standard",
    }
)


@contextmanager
def fixed_numerics() -> Iterator[None]:
    """Compute in this thread with JAX's defaults, regardless of its configuration.

    As a decorator, `@fixed_numerics()`, it makes a function independent of the configuration.
    """
    with ExitStack() as stack:
        for name, value in _SETTINGS.items():
            stack.enter_context(getattr(jax, name)(value))
        yield


def fix_numerics() -> None:
    """Make this whole process compute with JAX's defaults; only programs should call it."""
    for name, value in _SETTINGS.items():
        jax.config.update(f"jax_{name}", value)


def key_of(seed: int) -> Key[Array, ""]:
    """Return the random key of a seed from 0 to 2^32 - 1, regardless of JAX's default key type."""
    return jr.wrap_key_data(jnp.asarray(np.array([0, seed], np.uint32)), impl=_KEY_KIND)
