"""`dotmod`: a weighted sum of the past days, modulo 3, decides the next."""

import dataclasses
import functools
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.number_text import show_percent
from attnlab.configuration.options import Finding, option
from attnlab.generators.base import AbstractGenerator
from attnlab.generators.display import lines_latex, vector_latex
from attnlab.generators.stream import (
    StreamBelief,
    hidden_past,
    prefix_table,
    start_stream,
    stationary_distribution,
    stream_log_probs,
    update_stream,
)
from attnlab.generators.vocabulary import WEATHER, Vocabulary

_VALUES = {"described": (0, 1, 2), "published": (1, 2, 3)}
_WEIGHTS = (0, 1, 2, 3, 2, 1)


@dataclasses.dataclass(frozen=True)
class DotMod(AbstractGenerator):
    """z = (Σᵢ βᵢ yᵢ (2 - yᵢ)) mod 3 over the last n days, as a stationary stream.

    The next day is the weather of index z with probability 1 - noise, and each other weather with
    noise / 2. βᵢ is 0, 1, 2, 3, 2, 1 repeated from the oldest day on; yᵢ is the value of day i: (0,
    1, 2) for (rain, cloud, sun) as `described`, so only clouds count, or (1, 2, 3) as `published`,
    so only rain does. With fewer than n days seen, the earlier ones are marginalised over the
    stationary distribution.
    """

    name: ClassVar[str] = "dotmod"
    summary: ClassVar[str] = (
        "A weighted count of cloudy (or rainy) days among the last n, modulo 3, decides the odds "
        "of the next."
    )
    vocabulary: ClassVar[Vocabulary] = WEATHER

    # The largest n whose exact distribution (3^12 windows) is found in seconds.
    n: int = option(10, "How many past days the sum includes.", low=1, high=12, unit="days")
    # Without noise the stream may be periodic and has no single stationary distribution.
    noise: float = option(
        0.04, "Probability that the next day differs from the rule's result.", low=0.01, high=0.6
    )
    variant: str = option(
        "described",
        "described: values (0, 1, 2), clouds count; published: (1, 2, 3), rain counts.",
        choices=("described", "published"),
    )

    @property
    def formula(self) -> str:
        weights, other = np.resize(_WEIGHTS, self.n), self.noise / (self.vocabulary.size - 1)
        return lines_latex(
            rf"z = \Big( \sum_{{i=1}}^{{{self.n}}} \beta_i\, y_i (2 - y_i) \Big) \bmod 3",
            r"y_i = \text{value of day } i,\ \text{from the oldest on}",
            rf"\beta = {vector_latex(weights.tolist())}",
            rf"y = {vector_latex(_VALUES[self.variant])} \text{{ for (rain, cloud, sun)}}",
            rf"p(\text{{next day}} = z) = {1 - self.noise:g}, \quad "
            rf"\text{{each other }} {other:g}",
        )

    def rule_in_words(self, length: int) -> str:
        counting = "cloudy" if self.variant == "described" else "rainy"
        return (
            f"Each of the last {self.n} days has weight 0, 1 or 2. The sum over {counting} days, "
            f"modulo 3, decides day {length + 1} in {show_percent(1 - self.noise)} of cases."
        )

    def findings(self, length: int) -> Iterator[Finding]:
        # A weight that is a multiple of 3 adds nothing to the sum.
        weights = np.resize(_WEIGHTS, self.n) % self.vocabulary.size
        return hidden_past((self.n - np.flatnonzero(weights)).tolist(), length)

    def is_stationary(self) -> bool:
        return True

    def start(self) -> StreamBelief:
        return start_stream(_table(self))

    def log_probs(self, belief: StreamBelief) -> Float[Array, " vocab"]:
        return stream_log_probs(belief)

    def update(self, belief: StreamBelief, token: Int[Array, ""]) -> StreamBelief:
        return update_stream(belief, token, memory=self.n)


# A pure function of a frozen value, needed at every start.
@functools.lru_cache(maxsize=4)
def _table(generator: DotMod) -> Float[np.ndarray, "prefixes vocab"]:
    # The oldest token is the leading digit of a window's code.
    sums = _window_sums(generator.n, _contributions(generator))
    rule = _distribution_of_sum(generator, sums % generator.vocabulary.size)
    return prefix_table(rule, stationary_distribution(rule, first=_first_distribution(generator)))


def _first_distribution(generator: DotMod) -> Float[np.ndarray, " windows"]:
    """Return a distribution of windows that becomes the stationary one after n more tokens.

    The rule depends only on which tokens count: y (2 - y) mod 3 is 1 for these, else 0. These bits
    form a stream with only 2^n windows, whose stationary distribution is found quickly. The
    probability of each bit pattern is assigned to one window of tokens with that pattern. After n
    tokens the rule has drawn the whole window, so that it is stationary.
    """
    n, size = generator.n, generator.vocabulary.size
    counts = _contributions(generator) % size != 0
    by_weather = _distribution_of_sum(generator, _window_sums(n, np.arange(2)) % size)
    rule = np.stack([by_weather[:, ~counts].sum(axis=1), by_weather[:, counts].sum(axis=1)], axis=1)
    weathers = np.array([np.flatnonzero(~counts)[0], np.flatnonzero(counts)[0]])
    window = np.zeros(1, dtype=int)
    for _ in range(n):
        window = np.add.outer(window * size, weathers).ravel()
    first = np.zeros(size**n)
    first[window] = stationary_distribution(rule)
    return first


def _contributions(generator: DotMod) -> Int[np.ndarray, " vocab"]:
    """Return y (2 - y) of each weather."""
    value = np.array(_VALUES[generator.variant])
    return value * (2 - value)


def _window_sums(n: int, contribution: Int[np.ndarray, " kinds"]) -> Int[np.ndarray, " windows"]:
    """Return Σᵢ βᵢ contribution[token i], for every window of n tokens."""
    total = np.zeros(1, dtype=int)
    for weight in np.resize(_WEIGHTS, n):
        total = np.add.outer(total, weight * contribution).ravel()
    return total


def _distribution_of_sum(
    generator: DotMod, remainder: Int[np.ndarray, " windows"]
) -> Float[np.ndarray, "windows vocab"]:
    size = generator.vocabulary.size
    rule = np.full((remainder.size, size), generator.noise / (size - 1))
    rule[np.arange(remainder.size), remainder] = 1 - generator.noise
    return rule
