"""Where the prediction of a model is read out."""

from types import MappingProxyType

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.models.base import AbstractModel

READOUTS = MappingProxyType(
    {
        "last": "the last position predicts the final token",
        "first": "the first one does: with the published mask, the only one that sees every token",
    }
)


def readout_position(readout: str, length: int) -> int:
    """The position whose logits are the model's prediction, for a name of `READOUTS`."""
    return {"last": length - 1, "first": 0}[readout]


def final_logits(
    model: AbstractModel, visible: Int[Array, " length"], readout: str
) -> Float[Array, " vocab"]:
    """Logits of the token after the visible ones."""
    queries = np.array([readout_position(readout, visible.size)])
    return model(visible, jnp.asarray(queries))[0][0]
