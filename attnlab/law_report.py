"""What is said of the laws of a process: which hold, and whether its hidden states are hidden."""

import functools
from collections.abc import Iterator
from typing import NamedTuple

from attnlab.configuration.number_text import show_percent
from attnlab.configuration.options import AttnlabError, OptionError
from attnlab.generators import AbstractGenerator, AbstractHiddenChain
from attnlab.optimum.exact_table import certain_after
from attnlab.optimum.sequences import MOST_SEQUENCES
from attnlab.testing import process_laws

USUAL_LENGTH = 5


class CheckedLaw(NamedTuple):
    """A law in words, and what is wrong in one line, or ""."""

    law: str
    problem: str


class LawReport(NamedTuple):
    """The laws of a process on all sequences of `length` tokens.

    `certain_after` is the probability that 0, 1, … tokens determine the hidden state, for a hidden
    chain that obeys the laws.
    """

    length: int
    laws: tuple[CheckedLaw, ...]
    certain_after: tuple[float, ...] = ()

    @property
    def visibility(self) -> str:
        """Return after how many tokens the hidden state is certain, in words, or ""."""
        shares = self.certain_after
        if not shares:
            return ""
        if max(shares) == 0:
            return f"The hidden state is never certain after up to {len(shares) - 1} tokens."
        visible = next((seen for seen, share in enumerate(shares) if share > 1 - 1e-6), None)
        if visible is not None:
            after = tokens_in_words(visible)
            return f"The hidden state is always certain after {after}, so it is not hidden."
        first = next(seen for seen, share in enumerate(shares) if share > 0)
        return (
            f"The hidden state can be certain after {tokens_in_words(first)}, and is so in "
            f"{show_percent(shares[-1])} of all cases after {len(shares) - 1}."
        )

    @property
    def holds(self) -> bool:
        """Return whether all laws hold."""
        return not any(each.problem for each in self.laws)


@functools.lru_cache(maxsize=16)
def law_report(process: AbstractGenerator, length: int) -> LawReport:
    """Check the laws of a process on all sequences of `length` tokens, or fewer if there are many.

    Raises:
        OptionError: If even sequences of two tokens are too many.
    """
    vocab = process.vocabulary.size
    while vocab**length > MOST_SEQUENCES and length > 2:
        length -= 1
    process = process.at_length(length)
    laws = tuple(_checked(process, length))
    report = LawReport(process.own_length() or length, laws)
    if report.holds and isinstance(process, AbstractHiddenChain):
        return report._replace(certain_after=tuple(certain_after(process, length)))
    return report


def usual_report(process: AbstractGenerator, length: int) -> LawReport | OptionError:
    """Return the report on at most five of `length` tokens, or why there is none."""
    try:
        return law_report(process, min(length, USUAL_LENGTH))
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
        except AttnlabError:
            raise
        except ValueError as error:
            if "too many sequences" in str(error):
                problem = "there are too many sequences to check all of them"
                raise OptionError("length", length, problem, "Choose a smaller one") from error
            yield CheckedLaw(law, _in_a_line(error))
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


def tokens_in_words(count: int) -> str:
    """Return a number of tokens as text."""
    return f"{count} token{'s' * (count != 1)}"
