"""Sequences of tokens from untrusted text: what was understood, and every line that was not."""

import csv
import functools
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

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
        count, (low, high) = len(self.lengths), (self.lengths.min(), self.lengths.max())
        sizes = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        parts = [
            f"{count:,} {'sequence' if count == 1 else 'sequences'} of {sizes} tokens, "
            f"{self.tokens.size:,} tokens in all",
            f"{self.vocabulary.size} symbols: {' '.join(self.vocabulary.symbols)}",
        ]
        if self.empty:
            parts.append(
                f"{self.empty:,} empty {'line was' if self.empty == 1 else 'lines were'} skipped"
            )
        if self.problems:
            count = len(self.problems)
            were = "line was" if count == 1 else "lines were"
            parts.append(f"{count:,} {were} not understood and left out")
        return ". ".join(parts) + "."


def read_text(path: str | Path) -> str:
    """Return the text of a file, as `decode` does.

    Raises:
        OSError: If the file cannot be read.
    """
    with Path(path).open("rb") as file:
        return decode(file.read(MOST_BYTES + 1))


def decode(data: bytes) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 with a byte-order mark.

    Raises:
        OptionError: If it is too long, or not such text.
    """
    if len(data) > MOST_BYTES:
        problem = f"longer than {MOST_BYTES:,} bytes"
        raise OptionError("text", data[:20], problem, "Take a part of it")
    is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        return data.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError:
        problem = "not text in UTF-8"
        raise OptionError(
            "text", data[:20], problem, "Save it as plain text or CSV in UTF-8"
        ) from None


# A pure function of a text, needed at every rerun of a page.
@functools.lru_cache(maxsize=8)
def read_sequences(text: str, layout: str, tokens: str, letters: str) -> Understood:
    """Return the sequences of a text; the arguments are the options of `OwnSequences`.

    A line with anything that was not understood is left out whole. In the layout `stream` the lines
    are one sequence, which such a line cuts in two.

    Raises:
        OptionError: If the text is too long or no plain text, or has fewer than two symbols, more
            than 64, or too many tokens.
    """
    _check_size(text)
    text = normal(text.removeprefix("\ufeff"))
    if letters == LOWER_CASE:
        text = normal(text.lower())
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if len(lines) > MOST_LINES:
        problem = f"of {len(lines):,} lines, more than {MOST_LINES:,}"
        raise OptionError("text", text[:60], problem, "Take a part of it")
    split, reasons = _splitter(text, tokens), {}
    sequences: list[list[str]] = [[]]
    problems, empty = [], 0
    for number, line in enumerate(lines, 1):
        found = split(line.strip() if tokens not in SEPARATORS else line)
        reason = next(filter(None, (_reason(each, tokens, reasons) for each in found)), "")
        if reason:
            problems.append(Problem(number, reason))
        # The end of the last line is no line of its own.
        empty += not found and number < len(lines)
        if reason or layout == LINES:
            sequences.append([])
        if found and not reason:
            joint = [_SPACE] if tokens == CHARACTERS and sequences[-1] else []
            sequences[-1] += joint + found
    sequences = [each for each in sequences if each]
    return _numbered(text, sequences, tuple(problems), empty)


def _check_size(text: str) -> None:
    if len(text) > MOST_TEXT:
        problem = f"longer than {MOST_TEXT:,} characters"
        raise OptionError("text", text[:60], problem, "Take a part of it")
    if "\0" in text:
        problem = "not plain text, since it contains NUL characters"
        raise OptionError("text", text[:60], problem, "Save it as plain text or CSV in UTF-8")


def _numbered(
    text: str, sequences: Sequence[Sequence[str]], problems: tuple[Problem, ...], empty: int
) -> Understood:
    lengths = np.array([*map(len, sequences)], np.int64)
    symbols = sorted(set().union(*sequences)) if sequences else []
    if len(symbols) < 2:
        problem = "without any token" if not symbols else f"of one symbol, {quoted(symbols[0])}"
        if problems:
            problem += f" that was understood ({problems[0]})".replace(".)", ")")
        raise OptionError("text", text[:60], problem, "Give sequences of two or more symbols")
    if len(symbols) > MOST_SYMBOLS:
        problem = f"of {len(symbols):,} symbols, more than {MOST_SYMBOLS}"
        remedy = (
            f"Choose the tokens '{CHARACTERS}' or the letters '{LOWER_CASE}', or replace rare ones"
        )
        raise OptionError("text", text[:60], problem, remedy)
    if lengths.sum() > MOST_TOKENS:
        problem = f"of {lengths.sum():,} tokens, more than {MOST_TOKENS:,}"
        raise OptionError("text", text[:60], problem, "Take a part of it")
    number = {symbol: place for place, symbol in enumerate(symbols)}
    tokens = np.fromiter((number[each] for one in sequences for each in one), np.int32)
    names = tuple("space" if symbol == _SPACE else symbol for symbol in symbols)
    return Understood(Vocabulary(tuple(symbols), names), tokens, lengths, problems, empty)


def _splitter(text: str, tokens: str):
    """Return the function that splits a line into tokens."""
    if tokens == WORDS:
        return str.split
    if tokens in SEPARATORS:
        return functools.partial(_cells, separator=SEPARATORS[tokens])
    # A character and all that combines with it: marks, emoji forms, skin tones, joined emoji.
    marks = "".join(
        map(re.escape, sorted(c for c in set(text) if unicodedata.category(c)[0] == "M"))
    )
    more = f"[{marks}{_TONES}\ufe0f]*"
    cluster = re.compile(
        rf"[{_FLAGS}][{_FLAGS}]|\U0001f3f4[\U000e0030-\U000e007a]+\U000e007f"
        rf"|\s+|.{more}(?:\u200d[\U0001f000-\U0001faff\u2190-\u2bff]{more})*",
        re.DOTALL,
    )
    # An emoji may be written with or without its form.
    first: dict[str, str] = {}

    def split(line: str) -> list[str]:
        found = cluster.findall(line)
        return [
            _SPACE if each.isspace() else first.setdefault(each.replace(_EMOJI_FORM, ""), each)
            for each in found
        ]

    return split


def _cells(line: str, separator: str) -> list[str]:
    try:
        found = (
            next(csv.reader([line], delimiter=separator), [])
            if '"' in line
            else line.split(separator)
        )
    except csv.Error:
        # A cell as long as this is no token.
        found = [line]
    cells = [" ".join(each.split()) for each in found]
    # A spreadsheet fills up short rows with empty cells.
    while cells and not cells[-1]:
        cells.pop()
    return cells


_NUMBER_WITH_COMMA = re.compile(r"[-+]?[\d.]*\d,[\d,.]*")
_LONGEST_TOKEN = 40


def _reason(token: str, tokens: str, known: dict[str, str]) -> str:
    """Return why a token cannot be a symbol, or ""; each different token is examined once."""
    if token not in known:
        known[token] = next(_reasons(token, tokens), "")
    return known[token]


def _reasons(token: str, tokens: str) -> Iterator[str]:
    if not token:
        yield "a cell is empty"
        return
    if len(token) > _LONGEST_TOKEN:
        yield f"{quoted(token)} is longer than {_LONGEST_TOKEN} characters"
        return
    for letter in invisible_letters(token).values():
        kind = "a mark without a letter" if unicodedata.category(letter)[0] == "M" else "invisible"
        yield f"U+{ord(letter):04X} in it is {kind}"
    if tokens in SEPARATORS and token[0] == "=" and len(token) > 1:
        yield f"{quoted(token)} is a formula; export values instead"
    if tokens != CHARACTERS and _NUMBER_WITH_COMMA.fullmatch(token):
        yield f"{quoted(token)} is a number with a comma; write it without one"
