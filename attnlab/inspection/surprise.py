"""A prediction against the true distribution: irreducible loss, and the error of the model."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from attnlab.optimum import entropy


class Surprise(NamedTuple):
    """Expected -log p of the next token under the model, in nats, in its two parts.

    `unavoidable` is the entropy of the true distribution, irreducible; `error` is KL(true ‖ model),
    the model's own. Their sum is the expected loss.
    """

    unavoidable: float
    error: float


def surprise(true: Float[np.ndarray, " vocab"], model: Float[np.ndarray, " vocab"]) -> Surprise:
    """Cover and Thomas (2006), equation 5.25: cross-entropy = entropy + divergence."""
    possible = true > 0
    with np.errstate(divide="ignore"):
        divergence = (true[possible] * np.log(true[possible] / model[possible])).sum()
    return Surprise(unavoidable=float(entropy(true)), error=max(float(divergence), 0.0))
