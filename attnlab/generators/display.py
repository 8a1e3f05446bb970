"""What pages show of a process: its rule in words, as formulas and as tables."""

import abc
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from attnlab.configuration.options import Finding


class Outline(NamedTuple):
    """The titles and names of a table's rows and columns.

    The names come from the process's option `named_by`. A table with `most_columns` may have any
    number of columns up to `most_columns`. `parts` are the names of groups of equally many columns,
    each of which is edited as a separate table.
    """

    row_title: str
    rows: tuple[str, ...]
    column_title: str
    columns: tuple[str, ...]
    named_by: str = "symbols"
    most_columns: int | None = None
    parts: tuple[str, ...] = ()


class RuleTable(NamedTuple):
    """Probabilities of the columns, given the row."""

    name: str
    outline: Outline
    probs: tuple[tuple[float, ...], ...]


class BestWords(NamedTuple):
    """What the best known prediction is called: its loss, its accuracy, and the prediction."""

    floor: str
    ceiling: str
    best: str


OF_LAW = BestWords("floor", "ceiling", "best possible")
OF_REFERENCE = BestWords("best reference", "accuracy of the best reference", "best reference")
# What pages and commands say in place of results that need the law.
NO_LAW = (
    "No one knows the law of your own sequences, so that there is no true dependence and no belief "
    "to compare with"
)


def vector_latex(numbers: Sequence[float]) -> str:
    """Return a vector such as (0.3, 0.7) in LaTeX."""
    return "(" + ",\\ ".join(f"{number:.4g}" for number in numbers) + ")"


def matrix_latex(rows: Sequence[Sequence[float]]) -> str:
    """Return a matrix in round brackets in LaTeX."""
    lines = r" \\ ".join(" & ".join(f"{number:.4g}" for number in row) for row in rows)
    return rf"\begin{{pmatrix}} {lines} \end{{pmatrix}}"


def lines_latex(*lines: str) -> str:
    """Return formulas in LaTeX, one below the other."""
    return r"\begin{gathered} " + r" \\[2pt] ".join(lines) + r" \end{gathered}"


class AbstractDisplay(abc.ABC):
    """What a process may declare for pages; everything but the `summary` is optional.

    `source` is the publication it is from, and `position_word` the noun for a position. `formula`
    is the rule in LaTeX with the numbers of the options, `tables` are its probabilities, and
    `hidden_states` the names of hidden states, if the belief is log p(hidden state | past) as an
    array. `size_option` is the option that forms show in place of the length, if the process has an
    `own_length`.
    """

    summary: ClassVar[str]
    source: ClassVar[str] = ""
    position_word: ClassVar[str] = "day"
    hidden_states: ClassVar[tuple[str, ...]] = ()
    size_option: ClassVar[str] = ""
    formula: ClassVar[str] = ""
    tables: ClassVar[tuple[RuleTable, ...]] = ()

    @classmethod
    def outline(cls, name: str, values: Mapping[str, Any]) -> Outline | None:
        """Return the rows and columns of table option `name`, given the values of earlier options.

        Raises `OptionError` if these values do not determine the rows and columns.
        """
        return None

    def rule_in_words(self, length: int) -> str:
        """Return what decides the token after `length` visible ones, in one or two plain sentences.

        Positions are counted from the first visible token. By default it is `summary`.
        """
        return self.summary

    def findings(self, length: int) -> Iterator[Finding]:
        """Yield findings about tokens that matter but are not visible; by default none."""
        return iter(())
