"""`recall`: a few early days decide the last one."""

import dataclasses
import functools
import itertools
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.number_text import show_positions
from attnlab.configuration.options import Finding, OptionError, option
from attnlab.generators.base import AbstractGenerator
from attnlab.generators.display import Outline, RuleTable, lines_latex, matrix_latex, vector_latex
from attnlab.generators.markov import INITIAL, TRANSITION
from attnlab.generators.vocabulary import WEATHER, Vocabulary

_MOST_DAYS = 4
_HORIZON = 10


class RecallBelief(NamedTuple):
    """The number of days so far, the last token, and the tokens of the recalled days so far."""

    over: Int[Array, ""]
    last: Int[Array, ""]
    recalled: Int[Array, " recalled"]


class _Window(NamedTuple):
    """Distributions given that only the days from `hidden` + 1 on are visible.

    `first` is the distribution of the first visible day. Each row of `table` is the distribution of
    the final day, given the weathers of the visible days `recalled`.
    """

    first: Float[np.ndarray, " vocab"]
    recalled: tuple[int, ...]
    table: Float[np.ndarray, "rows vocab"]


@dataclasses.dataclass(frozen=True)
class Recall(AbstractGenerator):
    """The final day is drawn from a table, by the row for the weathers of the recalled `days`.

    Independent days come from (0.3, 0.4, 0.3); every other day follows from the day before by the
    default transition of `markov`. As `described`, the recalled days are the independent ones. As
    `published`, the independent days are one later (days 1, 5, 9 for recalled days 1, 4, 8), as
    in the blog's code. A row of the table is (i, j, k)/10, drawn uniformly by `table_seed` from the
    36 triples of positive integers with i + j + k = 10.

    `horizon` is the number of days before the final one: by default 10, or the last recalled day if
    that is later. The first `hidden` days are invisible and marginalised. If the length is less
    than the last recalled day, the horizon is that day, and only the last days are visible.

    Raises `OptionError` if days repeat, are not from 1 to 256, or are more than four; if the
    horizon is before the last of them; and if no day is visible.
    """

    name: ClassVar[str] = "recall"
    summary: ClassVar[str] = (
        "The tokens of a few early days set the probabilities of the final day's token."
    )
    vocabulary: ClassVar[Vocabulary] = WEATHER

    days: tuple[int, ...] = option(
        (1, 4, 8), "The days, counted from 1, whose tokens select the row of the table."
    )
    table_seed: int = option(0, "Random seed of the table.", low=0, high=999_999)
    variant: str = option(
        "described",
        "described: recalled days are drawn independently; published: the days after them are.",
        choices=("described", "published"),
    )
    horizon: int = dataclasses.field(default=0)
    hidden: int = dataclasses.field(default=0)

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.days, tuple):
            raise OptionError("days", self.days, "not a row of days", "Try 1, 4, 8")
        whole = all(isinstance(day, int) and not isinstance(day, bool) for day in self.days)
        if not whole or not all(1 <= day <= 256 for day in self.days):
            raise OptionError("days", self.days, "not whole numbers from 1 to 256", "Try 1, 4, 8")
        if not 1 <= len(self.days) <= _MOST_DAYS or sorted(set(self.days)) != list(self.days):
            problem = f"not 1 to {_MOST_DAYS} different days in increasing order"
            raise OptionError("days", self.days, problem, "Try 1, 4, 8")
        if not self.horizon:
            object.__setattr__(self, "horizon", max(_HORIZON, *self.days))
        if self.horizon < max(self.days):
            problem = f"before day {max(self.days)}, which the table reads"
            raise OptionError("horizon", self.horizon, problem, f"Choose {max(self.days)} or more")
        if not 0 <= self.hidden < self.horizon:
            problem = f"not from 0 to {self.horizon - 1}, so that at least one day is visible"
            raise OptionError("hidden", self.hidden, problem, "Choose 0 to see all days")

    def at_length(self, length: int) -> "AbstractGenerator":
        if length < 1:
            raise OptionError("length", length, "no day would be visible", "Choose 1 or more")
        horizon = max(length, *self.days)
        return dataclasses.replace(self, horizon=horizon, hidden=horizon - length)

    @property
    def hidden_days(self) -> tuple[int, ...]:
        """Return the recalled days that are not visible."""
        return tuple(day for day in self.days if day <= self.hidden)

    def findings(self, length: int) -> Iterator[Finding]:
        if not self.hidden_days:
            return
        many = len(self.hidden_days) > 1
        yield Finding(
            "length",
            f"{show_positions(self.hidden_days, 'Day')}, which the table reads, "
            f"{'lie' if many else 'lies'} before the {length} visible days. The process has "
            f"{self.horizon} days. The Bayes loss and accuracy take that into account; a length "
            f"of {self.horizon} shows all days.",
        )

    def rule_in_words(self, length: int) -> str:
        hidden = max(length, *self.days) - length
        parts = [day - hidden for day in self.days if day > hidden]
        sources = [show_positions(parts, "day")] if parts else []
        if many := len(self.days) - len(parts):
            earlier = "a day" if many == 1 else f"{many} days"
            sources.append(f"{earlier} before the visible ones")
        return f"Day {length + 1} depends on {' and on '.join(sources)}, and on chance."

    @property
    def formula(self) -> str:
        recalled = r",\ ".join(rf"x_{{{day}}}" for day in self.days)
        independent = r",\ ".join(str(day) for day in self.independent_days)
        first, last = self.hidden + 1, self.horizon
        shown = f"day {last}" if first == last else f"days {first} to {last}"
        return lines_latex(
            r"x_t = \text{weather of day } t",
            rf"x_{{{self.horizon + 1}}} \sim \text{{table}}\,[{recalled}]",
            rf"x_t \sim {vector_latex(INITIAL)} \quad \text{{for }} t = {independent}",
            r"x_t \sim P_{x_{t-1}} \quad \text{on other days}",
            rf"P = {matrix_latex(TRANSITION)}",
            *([rf"\text{{visible: {shown} of {last}}}"] if self.hidden else []),
        )

    @property
    def tables(self) -> tuple[RuleTable, ...]:
        symbols = self.vocabulary.symbols
        rows = tuple(map("".join, itertools.product(symbols, repeat=len(self.days))))
        title = f"weather of {show_positions(self.days, 'day')}"
        outline = Outline(title, rows, f"day {self.horizon + 1}", symbols)
        return (RuleTable("table", outline, tuple(map(tuple, self.table.tolist()))),)

    @property
    def independent_days(self) -> tuple[int, ...]:
        """Return the days that do not depend on the day before, counted from 1."""
        late = 1 if self.variant == "published" else 0
        return tuple(sorted({1} | {day + late for day in self.days if day > 1}))

    @property
    def table(self) -> Float[np.ndarray, "rows vocab"]:
        """Return p(last day | recalled days); the first recalled day is a row's leading digit."""
        triples = [(i, j, 10 - i - j) for i in range(1, 9) for j in range(1, 10 - i)]
        rows = np.random.default_rng(self.table_seed).integers(
            len(triples), size=self.vocabulary.size ** len(self.days)
        )
        return np.array(triples)[rows] / 10

    def is_stationary(self) -> bool:
        return False

    def start(self) -> RecallBelief:
        nothing = jnp.zeros(len(_window(self).recalled), dtype=int)
        return RecallBelief(over=jnp.int32(self.hidden), last=jnp.int32(0), recalled=nothing)

    def log_probs(self, belief: RecallBelief) -> Float[Array, " vocab"]:
        day, window = belief.over + 1, _window(self)
        digits = self.vocabulary.size ** np.arange(len(window.recalled))[::-1]
        from_table = jnp.log(window.table)[(belief.recalled * digits).sum()]
        from_last = jnp.log(jnp.array(TRANSITION))[belief.last]
        independent = jnp.isin(day, np.array(self.independent_days))
        ordinary = jnp.where(independent, jnp.log(jnp.array(INITIAL)), from_last)
        ordinary = jnp.where(day == self.hidden + 1, jnp.log(window.first), ordinary)
        return jnp.where(day == self.horizon + 1, from_table, ordinary)

    def update(self, belief: RecallBelief, token: Int[Array, ""]) -> RecallBelief:
        day = belief.over + 1
        read = jnp.array(_window(self).recalled)
        return RecallBelief(
            over=day, last=token, recalled=jnp.where(day == read, token, belief.recalled)
        )


# A pure function of a frozen value, needed on every day.
@functools.lru_cache(maxsize=64)
def _window(generator: Recall) -> _Window:
    """Return the window with the hidden days marginalised.

    Among the days before the last, only the first visible one depends directly on hidden days. So
    it replaces the hidden days among the recalled ones.
    """
    size, hidden, table = generator.vocabulary.size, generator.hidden_days, generator.table
    # p(weathers of the hidden recalled days so far, weather of the day), from day 1 on.
    joint = np.array([INITIAL])
    for day in range(1, generator.hidden + 1):
        if day in hidden:
            joint = (joint[:, None, :] * np.eye(size)).reshape(-1, size)
        if day + 1 in generator.independent_days:
            joint = joint.sum(axis=1, keepdims=True) * np.array(INITIAL)
        else:
            joint = joint @ np.array(TRANSITION)
    first = joint.sum(axis=0)
    if not hidden:
        return _Window(first, generator.days, table)
    visible = tuple(day for day in generator.days if day not in hidden)
    rows = np.einsum("hf,hvw->fvw", joint / first, table.reshape(len(joint), -1, size))
    return _Window(first, (generator.hidden + 1, *visible), rows.reshape(-1, size))
