"""The alphabet of tokens and the way between text and indices."""

import dataclasses
import unicodedata
from collections.abc import Iterable
from typing import SupportsInt

from attnlab.configuration.options import quoted

# U+FE0F asks for the emoji form of the character before it; keyboards often leave it out.
_EMOJI_FORM = "\N{VARIATION SELECTOR-16}"


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """Symbols, each possibly of several code points, with a plain name each.

    >>> WEATHER.parse("🌧️☁☀️")
    (0, 1, 2)
    >>> WEATHER.render((2, 2, 0))
    '☀️☀️🌧️'
    """

    symbols: tuple[str, ...]
    names: tuple[str, ...]

    def __post_init__(self):
        plain = [_plain(symbol) for symbol in self.symbols]
        if len(set(plain)) != len(plain) or not all(plain):
            raise ValueError(
                f"`symbols` are {quoted(self.symbols)}: every symbol must be visible and "
                "different from the others. Rename the repeated ones."
            )
        if len(self.names) != len(self.symbols):
            raise ValueError(
                f"`names` has {len(self.names)} entries for {len(self.symbols)} symbols. "
                "Give one name a symbol."
            )

    @property
    def size(self) -> int:
        """How many symbols there are."""
        return len(self.symbols)

    def render(self, tokens: Iterable[SupportsInt]) -> str:
        """Text of the tokens, without separators."""
        return "".join(self.symbols[int(token)] for token in tokens)

    def parse(self, text: str) -> tuple[int, ...]:
        """Tokens of a text of symbols; white space and commas between them are skipped.

        Refused: anything that is not one of the symbols.
        """
        # Longest first, so that a symbol which begins like another is not cut short.
        order = sorted(range(self.size), key=lambda i: -len(_plain(self.symbols[i])))
        rest, tokens = _plain(text), []
        while rest:
            if rest[0].isspace() or rest[0] == ",":
                rest = rest[1:]
                continue
            found = next((i for i in order if rest.startswith(_plain(self.symbols[i]))), None)
            if found is None:
                name = unicodedata.name(rest[0], "unnamed character")
                raise ValueError(
                    f"`text` has {quoted(rest[0])} ({name.lower()}) after {len(tokens)} symbols, "
                    f"which is not in this alphabet. Use {quoted(' '.join(self.symbols))}."
                )
            tokens.append(found)
            rest = rest[len(_plain(self.symbols[found])) :]
        return tuple(tokens)


def _plain(text: str) -> str:
    return text.replace(_EMOJI_FORM, "").strip()


WEATHER = Vocabulary(symbols=("🌧️", "☁️", "☀️"), names=("rain", "cloud", "sun"))
