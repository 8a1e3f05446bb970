"""Sequences of tokens from untrusted text: what was understood, and every line that was not."""

import csv
import functools
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from attnlab.configuration.number_text import show_count
from attnlab.configuration.options import OptionError, quoted
from attnlab.configuration.visible_text import invisible_letters, normal
from attnlab.generators.vocabulary import Vocabulary

MOST_TEXT, MOST_TOKENS, MOST_SYMBOLS, MOST_LINES = 1_000_000, 300_000, 64, 100_000
# A character has at most four bytes in UTF-8.
MOST_BYTES = 4 * MOST_TEXT
LINES, STREAM = "lines", "stream"
CHARACTERS, WORDS = "characters", "words"
SEPARATORS: Mapping[str, str] = MappingProxyType({"commas": ",", "semicolons": ";", "tabs": "\t"})
LAYOUTS, TOKENS = (LINES, STREAM), (CHARACTERS, WORDS, *SEPARATORS)
AS_WRITTEN, LOWER_CASE = "as written", "lower case"
# Shown for white space between tokens that are characters.
_SPACE = "␣"
_EMOJI_FORM = "\N{VARIATION SELECTOR-16}"
_FLAGS, _TONES = "\U0001f1e6-\U0001f1ff", "\U0001f3fb-\U0001f3ff"
_NUMBER_WITH_COMMA = re.compile(r"[-+]?[\d.]*\d,[\d,.]*")
_LONGEST_TOKEN = 40
_SHORTEN, _SAVE = "Take a part of it", "Save it as plain text or CSV in UTF-8"


class Problem(NamedTuple):
    """A line that was not understood, counted from 1, and the reason."""

    line: int
    reason: str

    def __str__(self):
        return f"Line {self.line:,}: {self.reason}."


class Understood(NamedTuple):
    """The sequences of a text: all `tokens` one after the other, and the length of each sequence.

    `problems` are the lines that were not understood; `empty` counts the lines without tokens.
    """

    vocabulary: Vocabulary
    tokens: Int[np.ndarray, " tokens"]
    lengths: Int[np.ndarray, " sequences"]
    problems: tuple[Problem, ...]
    empty: int

    def in_words(self) -> str:
        """Return what was understood, in plain sentences.

        >>> read_sequences("abba", "lines", "characters", "as written").in_words()
        '1 sequence of 4 tokens, 4 tokens in all. 2 symbols: a b.'
        """
        low, high = self.lengths.min(), self.lengths.max()
        sizes = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        sequences = show_count(len(self.lengths), "sequence")
        words = f"{sequences} of {sizes} tokens, {self.tokens.size:,} tokens in all. "
        words += f"{self.vocabulary.size} symbols: {' '.join(self.vocabulary.symbols)}."
        for count, left_out in (
            (self.empty, "empty {line} skipped"),
            (len(self.problems), "{line} not understood and left out"),
        ):
            line = "line was" if count == 1 else "lines were"
            words += f" {count:,} {left_out.format(line=line)}." * (count > 0)
        return words


def read_text(path: str | Path) -> str:
    """Return the text of a file, as `decode` does.

    Raises:
        OSError: If the file cannot be read.
    """
    with Path(path).open("rb") as file:
        return decode(file.read(MOST_BYTES + 1))


def decode(data: bytes, *, name: str = "text", most: int = MOST_BYTES) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 with a byte-order mark.

    Raises:
        OptionError: With this name, if it has more than `most` bytes, or is not such text.
    """
    if len(data) > most:
        raise OptionError(name, data[:20], f"longer than {most:,} bytes", _SHORTEN)
    is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        return data.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError:
        raise OptionError(name, data[:20], "not text in UTF-8", _SAVE) from None


# A pure function of a text, needed at every rerun of a page.
@functools.lru_cache(maxsize=8)
def read_sequences(text: str, layout: str, tokens: str, letters: str) -> Understood:
    """Return the sequences of a text; the arguments are the options of `OwnSequences`.

    A line with anything that was not understood is left out whole. In the layout `stream` the lines
    are one sequence, which such a line cuts in two.

    Raises:
        OptionError: If the text is no plain text, or has fewer than two symbols, more than 64, or
            too many lines or tokens.
    """
    if "\0" in text:
        problem = "not plain text, since it contains NUL characters"
        raise OptionError("text", text, problem, _SAVE)
    text = normal(text.removeprefix("\ufeff"))
    if letters == LOWER_CASE:
        text = normal(text.lower())
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if len(lines) > MOST_LINES:
        problem = f"of {len(lines):,} lines, more than {MOST_LINES:,}"
        raise OptionError("text", text, problem, _SHORTEN)
    split = _splitter(text, tokens)
    # Each different token is examined once.
    reason_of = functools.cache(lambda token: next(_reasons(token, tokens), ""))
    sequences: list[list[str]] = [[]]
    problems, empty = [], 0
    for number, line in enumerate(lines, 1):
        found = split(line)
        if reason := next(filter(None, map(reason_of, found)), ""):
            problems.append(Problem(number, reason))
        # The end of the last line is no line of its own.
        empty += not found and number < len(lines)
        if reason or layout == LINES:
            sequences.append([])
        if found and not reason:
            joint = [_SPACE] if tokens == CHARACTERS and sequences[-1] else []
            sequences[-1] += joint + found
    return _numbered(text, [each for each in sequences if each], tuple(problems), empty)


def _numbered(
    text: str, sequences: Sequence[Sequence[str]], problems: tuple[Problem, ...], empty: int
) -> Understood:
    symbols = sorted(set().union(*sequences))
    lengths = np.array([*map(len, sequences)], np.int64)
    problem, remedy = "", _SHORTEN
    if len(symbols) < 2:
        problem = f"of one symbol, {quoted(symbols[0])}" if symbols else "without any token"
        if problems:
            problem += f" that was understood ({problems[0]})".replace(".)", ")")
        remedy = "Give sequences of two or more symbols"
    elif len(symbols) > MOST_SYMBOLS:
        problem = f"of {len(symbols):,} symbols, more than {MOST_SYMBOLS}"
        remedy = (
            f"Choose the tokens '{CHARACTERS}' or the letters '{LOWER_CASE}', or replace rare ones"
        )
    elif lengths.sum() > MOST_TOKENS:
        problem = f"of {lengths.sum():,} tokens, more than {MOST_TOKENS:,}"
    if problem:
        raise OptionError("text", text, problem, remedy)
    number = {symbol: place for place, symbol in enumerate(symbols)}
    tokens = np.fromiter((number[each] for one in sequences for each in one), np.int32)
    names = tuple("space" if symbol == _SPACE else symbol for symbol in symbols)
    return Understood(Vocabulary(tuple(symbols), names), tokens, lengths, problems, empty)


def _splitter(text: str, tokens: str) -> Callable[[str], list[str]]:
    """Return the function that splits a line of the text into tokens."""
    if tokens == WORDS:
        return str.split
    if tokens in SEPARATORS:
        return functools.partial(_cells, separator=SEPARATORS[tokens])
    # A character and all that combines with it: marks, emoji forms, skin tones, joined emoji.
    marks = "".join(re.escape(c) for c in {*text} if unicodedata.category(c)[0] == "M")
    more = f"[{marks}{_TONES}{_EMOJI_FORM}]*"
    cluster = re.compile(
        rf"[{_FLAGS}][{_FLAGS}]|\U0001f3f4[\U000e0030-\U000e007a]+\U000e007f"
        rf"|\s+|.{more}(?:\u200d[\U0001f000-\U0001faff\u2190-\u2bff]{more})*",
        re.DOTALL,
    )
    # An emoji may be written with or without its form.
    first: dict[str, str] = {}
    return lambda line: [
        _SPACE if each.isspace() else first.setdefault(each.replace(_EMOJI_FORM, ""), each)
        for each in cluster.findall(line.strip())
    ]


def _cells(line: str, separator: str) -> list[str]:
    try:
        found = next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        # A cell as long as this is no token.
        found = [line]
    cells = [" ".join(each.split()) for each in found]
    # A spreadsheet fills up short rows with empty cells.
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _reasons(token: str, tokens: str) -> Iterator[str]:
    """Yield why a token cannot be a symbol."""
    if not token:
        yield "a cell is empty"
    elif len(token) > _LONGEST_TOKEN:
        yield f"{quoted(token)} is longer than {_LONGEST_TOKEN} characters"
    else:
        for letter in invisible_letters(token).values():
            is_mark = unicodedata.category(letter)[0] == "M"
            kind = "a mark without a letter" if is_mark else "invisible"
            yield f"U+{ord(letter):04X} in it is {kind}"
    if tokens in SEPARATORS and token[:1] == "=" and len(token) > 1:
        yield f"{quoted(token)} is a formula; export values instead"
    if tokens != CHARACTERS and _NUMBER_WITH_COMMA.fullmatch(token):
        yield f"{quoted(token)} is a number with a comma; write it without one"
