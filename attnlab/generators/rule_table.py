"""The tables of probabilities that a process follows, as people read them."""

from collections.abc import Sequence
from typing import NamedTuple


class Outline(NamedTuple):
    """What the rows and columns of a table stand for, and what each of them is called.

    The names come from the `named_by` of the process. Tables with `most_columns` may have any
    number of columns up to that.
    """

    row_title: str
    rows: tuple[str, ...]
    column_title: str
    columns: tuple[str, ...]
    named_by: str = "symbols"
    most_columns: int | None = None


class RuleTable(NamedTuple):
    """Probabilities of the columns, given the row."""

    name: str
    outline: Outline
    probs: tuple[tuple[float, ...], ...]


def vector_latex(numbers: Sequence[float]) -> str:
    """(0.3, 0.7) in LaTeX."""
    return "(" + ",\\ ".join(f"{number:.4g}" for number in numbers) + ")"


def matrix_latex(rows: Sequence[Sequence[float]]) -> str:
    """A matrix in round brackets in LaTeX."""
    lines = r" \\ ".join(" & ".join(f"{number:.4g}" for number in row) for row in rows)
    return rf"\begin{{pmatrix}} {lines} \end{{pmatrix}}"


def lines_latex(*lines: str) -> str:
    """Formulas below each other."""
    return r"\begin{gathered} " + r" \\[2pt] ".join(lines) + r" \end{gathered}"
