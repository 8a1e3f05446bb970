"""What the softmax returns where a plain one breaks."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from attnlab.attention.head import masked_softmax


class Case(NamedTuple):
    """Scores that are hard on a softmax, which keys are unmasked, and what is expected and why."""

    name: str
    scores: tuple[float, ...]
    unmasked: tuple[bool, ...]
    why: str


class Answer(NamedTuple):
    """What comes back in float32: from exp(s)/Σ exp(s) as it is written, and from attnlab's.

    `gradient` is that of the first weight by every score, through attnlab's softmax.
    """

    plain: Float[np.ndarray, " keys"]
    ours: Float[np.ndarray, " keys"]
    gradient: Float[np.ndarray, " keys"]

    @property
    def finite(self) -> bool:
        """Whether every weight and every gradient of ours is a finite number."""
        return bool(np.isfinite(self.ours).all() and np.isfinite(self.gradient).all())


_INF = float("inf")

CASES = (
    Case(
        "large scores",
        (1e4, 1e4 - 1, 0.0),
        (True, True, True),
        "exp(10,000) overflows float32. The largest score is subtracted from all of them "
        "first, which changes no weight, so that the largest exponent is 0.",
    ),
    Case(
        "very negative scores",
        (-1e4, -1e4 - 1, -2e4),
        (True, True, True),
        "Every exponential is 0, and 0/0 is not a number. The same shift prevents it.",
    ),
    Case(
        "one score of -inf",
        (-_INF, 0.0, 1.0),
        (True, True, True),
        "exp(-inf) is exactly 0: an impossible key gets weight 0 and gradient 0.",
    ),
    Case(
        "a row of -inf",
        (-_INF, -_INF, -_INF),
        (True, True, True),
        "-inf - (-inf) is not a number. A row without a possible key gets zeros in place of its "
        "softmax: the query attends to nothing.",
    ),
    Case(
        "every key masked",
        (3.0, 1.0, 2.0),
        (False, False, False),
        "No key is unmasked: zeros rather than a uniform pattern, which would leak what the mask "
        "hides. The output of such a query is 0, and no gradient passes.",
    ),
    Case(
        "not a number behind the mask",
        (2.0, float("nan"), 1.0),
        (True, False, True),
        "A masked score is replaced before anything is computed, so that it cannot spoil the "
        "weights, nor the gradients of the others.",
    ),
    Case(
        "a score of +inf",
        (_INF, 0.0, 1.0),
        (True, True, True),
        "inf/inf: there is no right answer. It is not hidden, so that a run with such a score "
        "ends with a message instead of going on with an arbitrary pattern.",
    ),
)


def answer(case: Case) -> Answer:
    """The case put to both."""
    scores, unmasked = np.array([case.scores], np.float32), np.array([case.unmasked])
    plain, ours, gradient = (np.asarray(part) for part in _answer(scores, unmasked))
    return Answer(plain[0], ours[0], gradient[0])


@jax.jit
def _answer(scores: Float[Array, "1 keys"], unmasked: Bool[Array, "1 keys"]):
    exponentials = jnp.exp(jnp.where(unmasked, scores, -jnp.inf))
    plain = exponentials / exponentials.sum(axis=-1, keepdims=True)
    gradient = jax.grad(lambda some: masked_softmax(some, unmasked)[0, 0])(scores)
    return plain, masked_softmax(scores, unmasked), gradient
