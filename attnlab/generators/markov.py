"""`markov`: the next day depends on the last one only."""

import dataclasses
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from attnlab.generators.base import AbstractGenerator
from attnlab.generators.probability import check_distribution, check_table
from attnlab.options import check_options, option
from attnlab.vocabulary import WEATHER, Vocabulary

INITIAL = (0.3, 0.4, 0.3)
TRANSITION = ((0.6, 0.3, 0.1), (0.3, 0.4, 0.3), (0.2, 0.3, 0.5))


class MarkovBelief(NamedTuple):
    """Whether any day was seen (0 or 1), and the last one."""

    seen: Int[Array, ""]
    last: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class Markov(AbstractGenerator):
    """p(day 1) = initial; p(day t + 1 = w | day t = v) = transition[v][w].

    Refused: rows that are not three probabilities that sum to 1.
    """

    name: ClassVar[str] = "markov"
    summary: ClassVar[str] = "The next day depends on the last one only."
    vocabulary: ClassVar[Vocabulary] = WEATHER

    initial: tuple[float, ...] = option(INITIAL, "Probabilities of day 1.", label="day 1")
    transition: tuple[tuple[float, ...], ...] = option(
        TRANSITION, "Row: weather of a day; columns: probabilities of the day after."
    )

    def __post_init__(self):
        check_options(self)
        check_distribution("initial", self.initial, self.vocabulary.size)
        check_table("transition", self.transition, self.vocabulary.size, self.vocabulary.size)

    def at_length(self, length: int) -> "AbstractGenerator":
        return self

    def start(self) -> MarkovBelief:
        return MarkovBelief(seen=jnp.int32(0), last=jnp.int32(0))

    def log_probs(self, belief: MarkovBelief) -> Float[Array, " vocab"]:
        rows = jnp.log(jnp.array(self.transition))
        return jnp.where(belief.seen > 0, rows[belief.last], jnp.log(jnp.array(self.initial)))

    def update(self, belief: MarkovBelief, token: Int[Array, ""]) -> MarkovBelief:
        return MarkovBelief(seen=jnp.ones_like(belief.seen), last=token)
