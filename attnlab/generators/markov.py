"""`markov`: each day depends only on the day before."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.options import option
from attnlab.generators.base import AbstractGenerator
from attnlab.generators.chain import check_distribution, check_table, is_stationary_chain
from attnlab.generators.display import Outline, RuleTable, lines_latex, matrix_latex, vector_latex
from attnlab.generators.vocabulary import WEATHER, Vocabulary

INITIAL = (0.3, 0.4, 0.3)
TRANSITION = ((0.6, 0.3, 0.1), (0.3, 0.4, 0.3), (0.2, 0.3, 0.5))


class MarkovBelief(NamedTuple):
    """Whether any token was seen (0 or 1), and the last token."""

    seen: Int[Array, ""]
    last: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class Markov(AbstractGenerator):
    """p(day 1) = initial; p(day t + 1 = w | day t = v) = transition[v, w].

    Raises `OptionError` for rows that are not three probabilities with sum 1.
    """

    name: ClassVar[str] = "markov"
    summary: ClassVar[str] = "Each day depends only on the day before."
    vocabulary: ClassVar[Vocabulary] = WEATHER

    initial: tuple[float, ...] = option(INITIAL, "Probabilities of day 1.", label="day 1")
    transition: tuple[tuple[float, ...], ...] = option(
        TRANSITION, "Row: weather of a day; columns: probabilities of the day after."
    )

    def __post_init__(self):
        super().__post_init__()
        check_distribution("initial", self.initial, self.vocabulary.size)
        check_table("transition", self.transition, self.vocabulary.size, self.vocabulary.size)

    @classmethod
    def outline(cls, name: str, values: Mapping[str, Any]) -> Outline:
        symbols = cls.vocabulary.symbols
        if name == "initial":
            return Outline("", ("day 1",), "day 1", symbols)
        return Outline("last day", symbols, "next day", symbols)

    @property
    def formula(self) -> str:
        return lines_latex(
            rf"p(\text{{day }} 1) = {vector_latex(self.initial)}",
            r"p(\text{day } t + 1 = w \mid \text{day } t = v) = P_{vw}",
            rf"P = {matrix_latex(self.transition)}",
        )

    @property
    def tables(self) -> tuple[RuleTable, ...]:
        return (RuleTable("transition", self.outline("transition", {}), self.transition),)

    def rule_in_words(self, length: int) -> str:
        return f"Day {length + 1} depends only on the day before, and on chance."

    def is_stationary(self) -> bool:
        initial, transition = np.array(self.initial), np.array(self.transition)
        emitting = np.eye(len(initial))[:, :, None]
        return is_stationary_chain(initial, emitting * transition)

    def start(self) -> MarkovBelief:
        return MarkovBelief(seen=jnp.int32(0), last=jnp.int32(0))

    def log_probs(self, belief: MarkovBelief) -> Float[Array, " vocab"]:
        rows = jnp.log(jnp.array(self.transition))
        return jnp.where(belief.seen > 0, rows[belief.last], jnp.log(jnp.array(self.initial)))

    def update(self, belief: MarkovBelief, token: Int[Array, ""]) -> MarkovBelief:
        return MarkovBelief(seen=jnp.ones_like(belief.seen), last=token)
