"""Final tokens drawn from a model's own probabilities, in the place of those that were observed."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from attnlab.generators.interruption import check_in


def redrawn(
    probs: Float[np.ndarray, "sequences vocab"], times: int, seed: int = 0
) -> Iterator[Int[np.ndarray, " sequences"]]:
    """Yield `times` final tokens of all sequences, each drawn from its own row of `probs`.

    The same `seed` gives the same draws.
    """
    up_to = probs.cumsum(axis=1)
    rng = np.random.default_rng(seed)
    for _ in range(times):
        check_in()
        uniform = rng.random((len(probs), 1)) * up_to[:, -1:]
        # A token that is impossible is never the first whose cumulative probability is larger.
        yield (up_to[:, :-1] <= uniform).sum(axis=1)
