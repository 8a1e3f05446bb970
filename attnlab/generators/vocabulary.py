"""Symbols of a process."""

import dataclasses
import functools
import itertools
import re
import string
import unicodedata
from collections.abc import Iterable, Sequence
from typing import SupportsInt

from attnlab.configuration.options import OptionError, present, quoted
from attnlab.configuration.visible_text import invisible_letters, normal

# U+FE0F selects the emoji form of the character before it; keyboards often omit it.
_EMOJI_FORM = "\N{VARIATION SELECTOR-16}"
# A sequence of at most 64 tokens is shown whole, of a longer one 20 tokens at each end.
_MOST_SHOWN, _AT_AN_END = 64, 20
# Three letters in a row.
_WORD = re.compile(r"[^\W\d_]{3}")


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """Symbols, each possibly of several code points, with a plain name each.

    Symbols are converted to Unicode's normal form C. Equal or invisible symbols are rejected.

    >>> WEATHER.parse("🌧️☁☀️")
    (0, 1, 2)
    >>> WEATHER.render((2, 2, 0))
    '☀️☀️🌧️'
    """

    symbols: tuple[str, ...]
    names: tuple[str, ...]

    def __post_init__(self):
        object.__setattr__(self, "symbols", tuple(map(normal, self.symbols)))
        plain = self._plain_symbols
        if len(set(plain)) != len(plain) or not all(plain) or any(map(invisible_letters, plain)):
            raise ValueError(
                f"`symbols` are {quoted(self.symbols)}: every symbol must be visible and "
                "different from the others. Rename the repeated ones."
            )
        if len(self.names) != len(self.symbols):
            raise ValueError(
                f"`names` has {len(self.names)} entries for {len(self.symbols)} symbols. Give one "
                "name per symbol."
            )

    @property
    def size(self) -> int:
        """Return the number of symbols."""
        return len(self.symbols)

    def render(self, tokens: Iterable[SupportsInt]) -> str:
        """Return the text of the tokens, which `parse` reads back.

        Symbols are joined, or separated by spaces if they are words or could be misread.

        >>> Vocabulary(symbols=("a", "ab", "b"), names=("x", "y", "z")).render((0, 2, 1))
        'a b ab'
        """
        return self._separator.join(self.symbols[int(token)] for token in tokens)

    def shorten(self, tokens: Iterable[SupportsInt]) -> str:
        """Return the text of the tokens; if there are more than 64, of the first and last 20.

        >>> WEATHER.shorten([0] * 65).count("🌧️")
        40
        """
        tokens = tuple(tokens)
        if len(tokens) <= _MOST_SHOWN:
            return self.render(tokens)
        return f"{self.render(tokens[:_AT_AN_END])} … {self.render(tokens[-_AT_AN_END:])}"

    @functools.cached_property
    def _plain_symbols(self) -> tuple[str, ...]:
        return tuple(map(_plain, self.symbols))

    @functools.cached_property
    def _separator(self) -> str:
        plain = self._plain_symbols
        pairs = list(itertools.product(plain, repeat=2))
        # Joined symbols are ambiguous if shorter ones can spell a longer one.
        longer = (one[len(other) :] for one, other in pairs if one.startswith(other))
        misread = any(rest and _can_begin(rest, plain) for rest in longer)
        are_words = any(map(_WORD.search, plain))
        return " " if are_words or misread or any(itertools.starmap(_merge, pairs)) else ""

    def parse(self, text: str) -> tuple[int, ...]:
        """Read the tokens of a text of symbols; white space and commas between them are skipped.

        Raises an error for anything that is not one of the symbols.
        """
        plain = self._plain_symbols
        # Longest first, so that a symbol that begins like a shorter one is not cut off.
        order = sorted(range(self.size), key=lambda i: -len(plain[i]))
        rest, tokens = _plain(text), []
        while rest:
            found = next((i for i in order if rest.startswith(plain[i])), None)
            if found is None and (rest[0].isspace() or rest[0] == ","):
                rest = rest[1:]
                continue
            if found is None:
                name = unicodedata.name(rest[0], "unnamed character")
                raise ValueError(
                    f"`text` has {quoted(rest[0])} ({name.lower()}) after {len(tokens)} symbols, "
                    f"which is not in this alphabet. Use {quoted(' '.join(self.symbols))}."
                )
            tokens.append(found)
            rest = rest[len(plain[found]) :]
        return tuple(tokens)


def read_symbols(text: str, most: int) -> Vocabulary:
    """Return the vocabulary of the option `symbols`: two or more symbols, separated by spaces.

    Raises:
        OptionError: If there are fewer than two or more than `most` symbols, or one repeats.
    """
    symbols = tuple(text.split())
    if not 2 <= len(symbols) <= most:
        problem = f"{len(symbols)} symbols, not 2 to {most}"
        raise OptionError("symbols", text, problem, "Separate them with spaces")
    try:
        return Vocabulary(symbols=symbols, names=symbols)
    except ValueError as error:
        problem = "a symbol repeats"
        remedy = "Write different symbols, separated by spaces"
        raise OptionError("symbols", text, problem, remedy) from error


def _plain(text: str) -> str:
    return normal(text.replace(_EMOJI_FORM, "")).strip()


def _can_begin(text: str, symbols: Sequence[str]) -> bool:
    """Return whether some joined symbols begin with this text."""
    return any(
        symbol.startswith(text)
        or (text.startswith(symbol) and _can_begin(text[len(symbol) :], symbols))
        for symbol in symbols
    )


def _merge(one: str, other: str) -> bool:
    """Return whether two symbols in a row are shown or read as something else."""
    letters = present(re.search("[\U0001f1e6-\U0001f1ff]*$", one))[0]
    return (
        # Flag letters pair up from the left.
        (len(letters) % 2 == 1 and bool(re.match("[\U0001f1e6-\U0001f1ff]", other)))
        # A skin tone changes the character before it.
        or bool(re.match("[\U0001f3fb-\U0001f3ff]", other))
        or normal(one + other) != one + other
    )


_LETTERS = string.ascii_letters + string.digits + "#&"


@functools.lru_cache(maxsize=64)
def first_letters(count: int) -> Vocabulary:
    """Return the first of 64 symbols: a to z, A to Z, 0 to 9, # and &.

    >>> "".join(first_letters(30).symbols)
    'abcdefghijklmnopqrstuvwxyzABCD'
    """
    symbols = tuple(_LETTERS[:count])
    return Vocabulary(symbols=symbols, names=symbols)


WEATHER = Vocabulary(symbols=("🌧️", "☁️", "☀️"), names=("rain", "cloud", "sun"))
