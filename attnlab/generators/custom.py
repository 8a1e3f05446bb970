"""`custom`: a table of probabilities over symbols, both given by the user."""

import dataclasses
import functools
import itertools
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.options import option
from attnlab.generators.base import AbstractGenerator
from attnlab.generators.chain import check_table, long_run_distribution
from attnlab.generators.display import Outline, RuleTable, lines_latex, matrix_latex
from attnlab.generators.stream import (
    StreamBelief,
    prefix_table,
    start_stream,
    stream_log_probs,
    update_stream,
)
from attnlab.generators.vocabulary import Vocabulary, read_symbols

_MOST_SYMBOLS = 6


@dataclasses.dataclass(frozen=True)
class Custom(AbstractGenerator):
    """A stationary stream: p(next token | the last one or two tokens) is a row of a table.

    With order 2 the rows are ordered by (token before last, last token), the last changing fastest.
    The stream has run forever, started with all symbols (or pairs) equally likely; tokens before
    the first are marginalised. After an impossible prefix every prediction is -inf.

    Raises `OptionError` for fewer than two or more than six symbols, repeated symbols, rows that
    are not probabilities, and a table of another size.
    """

    name: ClassVar[str] = "custom"
    summary: ClassVar[str] = "Your own table over your own symbols."

    symbols: str = option("🐱 🐶 🦊", "Two to six symbols, separated by spaces.")
    order: int = option(
        1,
        "How many days set the odds of the next; with 2, a row for every pair of days.",
        low=1,
        high=2,
        unit="days",
    )
    table: tuple[tuple[float, ...], ...] = option(
        ((0.1, 0.8, 0.1), (0.1, 0.1, 0.8), (0.8, 0.1, 0.1)),
        "Row: the last day, or pair of days; columns: probabilities of the day after.",
    )

    def __post_init__(self):
        super().__post_init__()
        size = read_symbols(self.symbols, _MOST_SYMBOLS).size
        check_table("table", self.table, size**self.order, size)

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the user's symbols, which are their own names."""
        return read_symbols(self.symbols, _MOST_SYMBOLS)

    @classmethod
    def outline(cls, name: str, values: Mapping[str, Any]) -> Outline:
        symbols, order = read_symbols(values["symbols"], _MOST_SYMBOLS).symbols, values["order"]
        rows = tuple(map(" ".join, itertools.product(symbols, repeat=order)))
        return Outline("last day" if order == 1 else "last two days", rows, "next day", symbols)

    @property
    def formula(self) -> str:
        if self.order == 2:
            return r"p(x_{t+1} = w \mid x_{t-1} = u,\ x_t = v) = P_{uv,w}"
        return lines_latex(
            r"p(x_{t+1} = w \mid x_t = v) = P_{vw}", rf"P = {matrix_latex(self.table)}"
        )

    @property
    def tables(self) -> tuple[RuleTable, ...]:
        values = {"symbols": self.symbols, "order": self.order}
        return (RuleTable("table", self.outline("table", values), self.table),)

    def rule_in_words(self, length: int) -> str:
        before = "one before" if self.order == 1 else "two before"
        return f"Each symbol depends only on the {before}, and on chance."

    def is_stationary(self) -> bool:
        return True

    def start(self) -> StreamBelief:
        return start_stream(_prefixes(self))

    def log_probs(self, belief: StreamBelief) -> Float[Array, " vocab"]:
        return stream_log_probs(belief)

    def update(self, belief: StreamBelief, token: Int[Array, ""]) -> StreamBelief:
        return update_stream(belief, token, memory=self.order)


@functools.lru_cache(maxsize=16)
def _prefixes(generator: Custom) -> Float[np.ndarray, "prefixes vocab"]:
    rule = np.array(generator.table, dtype=np.float64)
    rule = rule / rule.sum(axis=1, keepdims=True)
    windows, symbols = rule.shape
    transition, window = np.zeros((windows, windows)), np.arange(windows)
    for symbol in range(symbols):
        transition[window, (window * symbols + symbol) % windows] = rule[:, symbol]
    return prefix_table(rule, long_run_distribution(transition, np.full(windows, 1 / windows)))
