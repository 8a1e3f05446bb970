"""What is said of the laws of a process: which hold, and whether its hidden states are hidden."""

import functools
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from attnlab.configuration.number_text import show_count, show_percent
from attnlab.configuration.options import OptionError
from attnlab.generators import AbstractGenerator, AbstractHiddenChain
from attnlab.optimum.exact_table import certain_after
from attnlab.optimum.sequences import MOST_SEQUENCES
from attnlab.testing import process_laws

USUAL_LENGTH = 5
# Shares of all cases below this are rounding.
_SURE = 1e-6


class CheckedLaw(NamedTuple):
    """A law in words, and what is wrong in one line, or ""."""

    law: str
    problem: str


class LawReport(NamedTuple):
    """The laws of a process on all sequences of `length` tokens.

    For a hidden chain, `certain_after` are the shares in which 0, 1, … tokens determine its state.
    """

    length: int
    laws: tuple[CheckedLaw, ...]
    certain_after: tuple[float, ...] = ()

    @property
    def visibility(self) -> str:
        """Return how soon the tokens determine the hidden state, in words, or ""."""
        shares, tokens = self.certain_after, partial(show_count, noun="token")
        if not shares:
            return ""
        if max(shares) < _SURE:
            return f"Up to {tokens(len(shares) - 1)} never determine the hidden state."
        if shares[-1] > 1 - _SURE:
            first = max((n for n, share in enumerate(shares, 1) if share < 1 - _SURE), default=0)
            return f"From {tokens(first)} on, the tokens determine the hidden state."
        first = next(seen for seen, share in enumerate(shares) if share >= _SURE)
        return (
            f"After {tokens(len(shares) - 1)}, the tokens determine the hidden state in "
            f"{show_percent(shares[-1])} of all cases; the first time they can is after "
            f"{tokens(first)}."
        )

    @property
    def holds(self) -> bool:
        """Return whether all laws hold."""
        return not any(each.problem for each in self.laws)


@functools.lru_cache(maxsize=16)
def law_report(process: AbstractGenerator, length: int | None = None) -> LawReport:
    """Check the laws of a process on all sequences of `length` tokens.

    By default these are five, or fewer if there are too many sequences, or as many as the process
    fixes.

    Raises:
        OptionError: If there are too many sequences, or if the process has another length.
    """
    vocab, own = process.vocabulary.size, process.own_length()
    least = 1 + (process.shortest_length() if own is None else own)
    if length is None:
        few = (n for n in range(USUAL_LENGTH, least, -1) if vocab**n <= MOST_SEQUENCES)
        length = least if own is not None else next(few, max(least, 2))
    if vocab**length > MOST_SEQUENCES:
        problem = f"{vocab}^{length} sequences are too many to check all"
        remedy = "Choose options with fewer symbols or shorter sequences"
        raise OptionError("process", process.name, problem, remedy)
    process = process.at_length(length - 1)
    report = LawReport(length, tuple(_checked(process, length)))
    if report.holds and isinstance(process, AbstractHiddenChain):
        report = report._replace(certain_after=tuple(certain_after(process, length)))
    return report


def usual_report(process: AbstractGenerator, length: int) -> LawReport | OptionError:
    """Return the report on short sequences, whatever the length, or why there is none."""
    del length
    try:
        return law_report(process)
    except OptionError as error:
        return error


def _checked(process: AbstractGenerator, length: int) -> Iterator[CheckedLaw]:
    laws = process_laws(process, length=length)
    while True:
        law = "its probabilities can be computed"
        try:
            law, check = next(laws)
            check()
        except StopIteration:
            return
        # The code of a user can raise any exception, and an `AssertionError` says what is wrong.
        except Exception as error:
            yield CheckedLaw(law, _in_a_line(error))
        else:
            yield CheckedLaw(law, "")


def _in_a_line(error: Exception) -> str:
    """Return the message of an exception: of one by NumPy, also where the first numbers differ."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("Not equal to", "Arrays are not"))]
    places = [line for line in lines if line.startswith(("Mismatched", "Max absolute", "["))]
    kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
    return kind + ("; ".join([*lines[:1], *places[:3]]) or "no message")
