"""`recall`: a few early days, remembered, decide the last one."""

import dataclasses
import itertools
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.generators.base import AbstractGenerator
from attnlab.generators.markov import INITIAL, TRANSITION
from attnlab.generators.rule_table import (
    Outline,
    RuleTable,
    lines_latex,
    matrix_latex,
    vector_latex,
)
from attnlab.options import OptionError, check_options, option
from attnlab.vocabulary import WEATHER, Vocabulary

_MOST_DAYS = 4


class RecallBelief(NamedTuple):
    """How many days were seen, the last one, and those that the table reads, in order."""

    seen: Int[Array, ""]
    last: Int[Array, ""]
    recalled: Int[Array, " recalled"]


@dataclasses.dataclass(frozen=True)
class Recall(AbstractGenerator):
    """Day `horizon` + 1 is drawn from a table with a row for every weather of the recalled days.

    Independent days come from (0.3, 0.4, 0.3); every other day from the day before by the
    default transition of `markov`. `described`: the recalled days are the independent ones.
    `published`: the independent days stand one later (days 1, 5, 9 for 1, 4, 8) while the table
    still reads the recalled ones, which is what the blog's code does. A row of the table is
    (i, j, k)/10, drawn uniformly by `table_seed` from the 36 triples of positive whole numbers
    with i + j + k = 10. `horizon` is the number of days before the one that the table decides.

    Refused: days that repeat, that are not from 1 to 64, or more than four of them; a horizon
    before the last of them.
    """

    name: ClassVar[str] = "recall"
    summary: ClassVar[str] = "A few early days, remembered, decide the last one."
    vocabulary: ClassVar[Vocabulary] = WEATHER

    days: tuple[int, ...] = option((1, 4, 8), "Days that the table reads, counted from 1.")
    table_seed: int = option(0, "Seed that draws the table.", low=0, high=999_999)
    variant: str = option(
        "described",
        "described: the recalled days are independent; published: days one later are.",
        choices=("described", "published"),
    )
    horizon: int = dataclasses.field(default=10)

    def __post_init__(self):
        check_options(self)
        if not isinstance(self.days, tuple):
            raise OptionError("days", self.days, "not a row of days", "Try 1, 4, 8")
        whole = all(isinstance(day, int) and not isinstance(day, bool) for day in self.days)
        if not whole or not all(1 <= day <= 64 for day in self.days):
            raise OptionError("days", self.days, "not whole numbers from 1 to 64", "Try 1, 4, 8")
        if not 1 <= len(self.days) <= _MOST_DAYS or sorted(set(self.days)) != list(self.days):
            problem = f"not 1 to {_MOST_DAYS} different days in order"
            raise OptionError("days", self.days, problem, "Try 1, 4, 8")
        if self.horizon < max(self.days):
            problem = f"before day {max(self.days)}, which the table reads"
            raise OptionError("horizon", self.horizon, problem, f"Choose {max(self.days)} or more")

    def at_length(self, length: int) -> "AbstractGenerator":
        if length < max(self.days):
            shown = ", ".join(str(day) for day in self.days)
            raise OptionError(
                "length",
                length,
                f"too short for `recall`, whose table reads days {shown}",
                f"Choose a length of at least {max(self.days)}, or earlier `days`",
            )
        return dataclasses.replace(self, horizon=length)

    @property
    def formula(self) -> str:
        recalled = r",\ ".join(rf"x_{{{day}}}" for day in self.days)
        independent = r",\ ".join(str(day) for day in self.independent_days)
        return lines_latex(
            r"x_t = \text{weather of day } t",
            rf"x_{{{self.horizon + 1}}} \sim \text{{table}}\,[{recalled}]",
            rf"x_t \sim {vector_latex(INITIAL)} \quad \text{{for }} t = {independent}",
            r"x_t \sim P_{x_{t-1}} \quad \text{on other days}",
            rf"P = {matrix_latex(TRANSITION)}",
        )

    @property
    def tables(self) -> tuple[RuleTable, ...]:
        symbols = self.vocabulary.symbols
        rows = tuple(map("".join, itertools.product(symbols, repeat=len(self.days))))
        days = ", ".join(str(day) for day in self.days)
        outline = Outline(f"weather of day {days}", rows, f"day {self.horizon + 1}", symbols)
        return (RuleTable("table", outline, tuple(map(tuple, self.table.tolist()))),)

    @property
    def independent_days(self) -> tuple[int, ...]:
        """The days that do not depend on the day before, counted from 1."""
        late = 1 if self.variant == "published" else 0
        return tuple(sorted({1} | {day + late for day in self.days if day > 1}))

    @property
    def table(self) -> Float[np.ndarray, "rows vocab"]:
        """p(last day | recalled days); the first recalled day is the leading digit of the row."""
        triples = [(i, j, 10 - i - j) for i in range(1, 9) for j in range(1, 10 - i)]
        rows = np.random.default_rng(self.table_seed).integers(
            len(triples), size=self.vocabulary.size ** len(self.days)
        )
        return np.array(triples)[rows] / 10

    def start(self) -> RecallBelief:
        nothing = jnp.zeros(len(self.days), dtype=int)
        return RecallBelief(seen=jnp.int32(0), last=jnp.int32(0), recalled=nothing)

    def log_probs(self, belief: RecallBelief) -> Float[Array, " vocab"]:
        day = belief.seen + 1
        digits = self.vocabulary.size ** np.arange(len(self.days))[::-1]
        from_table = jnp.log(self.table)[(belief.recalled * digits).sum()]
        from_last = jnp.log(jnp.array(TRANSITION))[belief.last]
        independent = jnp.isin(day, np.array(self.independent_days))
        ordinary = jnp.where(independent, jnp.log(jnp.array(INITIAL)), from_last)
        return jnp.where(day == self.horizon + 1, from_table, ordinary)

    def update(self, belief: RecallBelief, token: Int[Array, ""]) -> RecallBelief:
        day = belief.seen + 1
        recalled = jnp.where(day == np.array(self.days), token, belief.recalled)
        return RecallBelief(seen=day, last=token, recalled=recalled)
