"""`ndays`: recently frequent tokens become less probable."""

import dataclasses
import functools
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.options import Finding, option
from attnlab.generators.base import AbstractGenerator
from attnlab.generators.display import lines_latex
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


class NDaysBelief(NamedTuple):
    """The belief about day-to-day differences modulo 3, whether a day was seen, and the last."""

    changes: StreamBelief
    seen: Int[Array, ""]
    last: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class NDays(AbstractGenerator):
    """p(next day = w | last n days) = (n - count of w among them) / 2n, as a stationary stream.

    With fewer than n days seen, the earlier ones are marginalised over the stationary distribution.
    """

    name: ClassVar[str] = "ndays"
    summary: ClassVar[str] = (
        "The more often a token occurred in the last n days, the less probable it is next."
    )
    vocabulary: ClassVar[Vocabulary] = WEATHER

    # The largest n whose exact distribution (3^14 changes) is found in seconds.
    n: int = option(10, "How many past days are counted.", low=1, high=15, unit="days")

    @property
    def formula(self) -> str:
        return lines_latex(
            rf"p(\text{{next day}} = w) = \frac{{{self.n} - c(w)}}{{{2 * self.n}}}",
            rf"c(w) = \text{{count of }} w \text{{ in the last {self.n} days}}",
        )

    def rule_in_words(self, length: int) -> str:
        return (
            f"The more often a weather occurred in the last {self.n} days, the less likely it is "
            "next."
        )

    def findings(self, length: int) -> Iterator[Finding]:
        return hidden_past(range(1, self.n + 1), length)

    def is_stationary(self) -> bool:
        return True

    def start(self) -> NDaysBelief:
        changes = start_stream(_change_table(self))
        return NDaysBelief(changes=changes, seen=jnp.int32(0), last=jnp.int32(0))

    def log_probs(self, belief: NDaysBelief) -> Float[Array, " vocab"]:
        size = self.vocabulary.size
        by_change = stream_log_probs(belief.changes)
        by_weather = by_change[(jnp.arange(size) - belief.last) % size]
        return jnp.where(belief.seen > 0, by_weather, -jnp.log(size))

    def update(self, belief: NDaysBelief, token: Int[Array, ""]) -> NDaysBelief:
        change = (token - belief.last) % self.vocabulary.size
        moved = update_stream(belief.changes, change, memory=self.n - 1)
        # The first token has no earlier one to change from.
        seen, code = (
            jnp.where(belief.seen > 0, new, old)
            for new, old in ((moved.seen, belief.changes.seen), (moved.code, belief.changes.code))
        )
        changes = moved._replace(seen=seen, code=code)
        return NDaysBelief(changes=changes, seen=jnp.ones_like(belief.seen), last=token)


# The distribution of 15 days takes seconds; a pure function of a frozen value is safe to cache.
@functools.lru_cache(maxsize=2)
def _change_table(generator: NDays) -> Float[np.ndarray, "prefixes vocab"]:
    """Return log p(next change | earlier changes); a change is a difference of tokens mod 3.

    The rule treats all weathers equally, so the n - 1 changes between n tokens determine the
    distribution of the next change. There are a third as many windows of changes as of tokens.
    """
    rule = _change_rule(generator.n, generator.vocabulary.size)
    return prefix_table(rule, stationary_distribution(rule))


def _change_rule(n: int, size: int) -> Float[np.ndarray, "windows vocab"]:
    """Return p(change after the last token | the n - 1 changes between the last n tokens)."""
    counts = np.zeros((size, 1), dtype=np.int8)
    counts[0] = 1
    back_to_token = np.zeros(1, dtype=np.int8)
    for _ in range(n - 1):
        back_to_token = (np.add.outer(np.arange(size, dtype=np.int8), back_to_token) % size).ravel()
        relative = -back_to_token % size
        earlier = np.tile(counts, (1, size))
        counts = earlier + (relative == np.arange(size, dtype=np.int8)[:, None])
    return (n - counts.T) / (2 * n)
