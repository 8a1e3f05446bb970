"""What the positions of a sequence are called: days of a weather, tokens of a task."""

import re

_DAY = re.compile(r"\b([Dd])ay(s?)\b")


def with_position_word(text: str, word: str) -> str:
    """A text that speaks of days, with their word in its place.

    Words for people are written for days; `word` is the `position_word` of a process.

    >>> with_position_word("Day 3 depends on two days.", "token")
    'Token 3 depends on two tokens.'
    """
    if word == "day":
        return text
    return _DAY.sub(lambda m: (word.capitalize() if m[1] == "D" else word) + m[2], text)
