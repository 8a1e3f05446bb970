"""Several tests at once: p-values corrected for how many they are."""

import numpy as np
from jaxtyping import Float


def adjusted_p_values(
    p_values: Float[np.ndarray, "*sets tests"],
) -> Float[np.ndarray, "*sets tests"]:
    """Holm's step-down p-values, of each set of tests along the last axis.

    Of m tests, with p_(1) ≤ … ≤ p_(m): the adjusted p_(k) is the largest of (m - j + 1) p_(j) over
    j ≤ k, and 1 at most. Where those below α are called real, the probability of calling any of
    them wrongly so is α at most, however the tests depend on each other (Holm 1979, "A simple
    sequentially rejective multiple test procedure"). Refused: what is not from 0 to 1.

    >>> adjusted_p_values(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    if not ((p_values >= 0) & (p_values <= 1)).all():
        raise ValueError(f"`p_values` are {p_values.tolist()}. Give numbers from 0 to 1.")
    order = np.argsort(p_values, axis=-1)
    times = np.arange(p_values.shape[-1], 0, -1)
    stepped = np.minimum(np.take_along_axis(p_values, order, axis=-1) * times, 1.0)
    adjusted = np.empty_like(stepped)
    np.put_along_axis(adjusted, order, np.maximum.accumulate(stepped, axis=-1), axis=-1)
    return adjusted
