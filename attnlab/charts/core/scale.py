"""The ends of colour scales: few, so that maps share them and a live one keeps its own."""

import itertools

import numpy as np
from jaxtyping import Float

_STEPS = (1.0, 3.0)


def top_of_scale(*values: Float[np.ndarray, "..."]) -> float:
    """The least of 0.01, 0.03, 0.1, 0.3, 1, 3 … that no value exceeds in size.

    Not below 0.01: what is smaller is drawn as next to nothing.
    """
    most = max((float(np.abs(each).max()) for each in values if each.size), default=0.0)
    ends = (step * 10.0**power for power in itertools.count(-2) for step in _STEPS)
    # Rounding may leave a share a little above 1.
    return round(next(end for end in ends if most <= end * (1 + 1e-6)), 2)
