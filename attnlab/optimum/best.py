"""The best that any predictor can do: floor and ceiling, in total and by position."""

import dataclasses
import functools

import numpy as np
from jaxtyping import Float

from attnlab.configuration.numerics import fixed_numerics
from attnlab.generators import AbstractGenerator
from attnlab.optimum.levels import TooManyBeliefsError, levels
from attnlab.optimum.sampled import mean_and_error, predictives, sampled_sequences


@dataclasses.dataclass(frozen=True)
class Best:
    """Least possible -log p(token), in nats, and best possible accuracy, of predicting one token.

    The standard errors are 0 where the numbers are exact. Where `bounded`, the search for the best
    predictor was stopped before it converged: its loss may still be a little lower.
    """

    nll: float
    accuracy: float
    nll_stderr: float = 0.0
    accuracy_stderr: float = 0.0
    bounded: bool = False

    @property
    def exact(self) -> bool:
        """Whether the numbers are enumerated, neither estimated nor bounded."""
        return self.nll_stderr == 0 and self.accuracy_stderr == 0 and not self.bounded


@dataclasses.dataclass(frozen=True)
class Optimum:
    """`by_position[t]` is the best prediction of the token at position t from the t before it.

    The last of them, `final`, is that of the token after all visible ones.
    """

    by_position: tuple[Best, ...]

    @property
    def per_day(self) -> tuple[Best, ...]:
        """The earlier name of `by_position`, which scripts of others have."""
        return self.by_position

    @property
    def final(self) -> Best:
        """The best prediction of the token after the visible ones: floor and ceiling of a run."""
        return self.by_position[-1]

    @property
    def exact(self) -> bool:
        """Whether every figure is enumerated."""
        return all(best.exact for best in self.by_position)


# A pure function of a frozen value and a number, asked for again with every picture of a page.
@functools.lru_cache(maxsize=64)
@fixed_numerics()
def optimum(generator: AbstractGenerator, length: int, most: int | None = None) -> Optimum:
    """Floor and ceiling of predicting each token from those before it, as far as `length` + 1.

    floor = E[H(p(· | past))], ceiling = E[max p(· | past)], where p is the exact prediction from
    the visible tokens alone. Exact by enumerating beliefs; where there are more than `most` of
    them, by default 3^12, estimated from sampled sequences, with standard errors. Of a task, whose
    target tokens are all as hard, exact at any size, and the final one stands for all that are
    asked.
    """
    generator = generator.at_length(length)
    if (laws := generator.next_laws()) is not None:
        return Optimum(tuple(_exact(np.ones(1), law[None]) for law in laws))
    try:
        found = levels(generator, length, most=most)
        return Optimum(tuple(_exact(level.probability, level.next_probs) for level in found))
    except TooManyBeliefsError:
        return _sampled(generator, length)


def _exact(
    probability: Float[np.ndarray, " beliefs"], next_probs: Float[np.ndarray, "beliefs vocab"]
) -> Best:
    return Best(
        nll=float(probability @ entropy(next_probs)),
        accuracy=float(probability @ next_probs.max(axis=1)),
    )


def _sampled(generator: AbstractGenerator, length: int) -> Optimum:
    found = []
    # The entropy of each prediction varies less than the surprise at one drawn token.
    for probs in predictives(generator, sampled_sequences(generator, length)).swapaxes(0, 1):
        nll, nll_stderr = mean_and_error(entropy(probs))
        accuracy, accuracy_stderr = mean_and_error(probs.max(axis=1))
        found.append(Best(nll, accuracy, nll_stderr, accuracy_stderr))
    return Optimum(tuple(found))


def entropy(probs: Float[np.ndarray, "*many vocab"]) -> Float[np.ndarray, "*many"]:
    """-Σ p log p over the last axis, in nats."""
    safe = np.where(probs > 0, probs, 1.0)
    return np.asarray(-(probs * np.log(safe)).sum(axis=-1))
