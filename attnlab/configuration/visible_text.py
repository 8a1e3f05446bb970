"""Invisible characters in untrusted text, and their replacement.

Used for symbols of processes and for names, tags and notes of runs. With invisible characters,
texts that look equal could differ, and a terminal could execute control characters.
"""

import re
import unicodedata

# Controls, marks of width and direction, halves of characters, private and unassigned ones.
_HIDDEN_KINDS = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
# Fillers, blanks and selectors, which Unicode counts among letters, marks and symbols.
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
# The first range is reserved for emoji: an older Python may not know some of them.
_PICTURE = "\U0001f000-\U0001faff\u2190-\u2bff"
_EMOJI_KEPT = re.compile("[\U0001f000-\U0001faff]")
# Characters that are invisible alone but part of an emoji: joiners, variants, flag letters.
_PART_OF_EMOJI = re.compile(
    f"(?<=[{_PICTURE}\ufe0f])\u200d(?=[{_PICTURE}])"
    "|(?<=\\S)\ufe0f"
    "|(?<=\U0001f3f4)[\U000e0030-\U000e007a]+\U000e007f"
)


def normal(text: str) -> str:
    """Return Unicode's normal form C: é is one character, however it was written."""
    return unicodedata.normalize("NFC", text)


def visible(text: str, *, keep: str = "") -> str:
    """Return the normal form, with a question mark for each invisible character not in `keep`.

    >>> visible("a" + chr(0x202E) + "b"), visible("🇫🇷 👍🏽 ☀️")
    ('a?b', '🇫🇷 👍🏽 ☀️')
    """
    text, hidden = normal(text), invisible_letters(text)
    return "".join(
        "?" if place in hidden and letter not in keep else letter
        for place, letter in enumerate(text)
    )


def invisible_letters(text: str) -> dict[int, str]:
    """Return the invisible characters of the normal form by index."""
    text = normal(text)
    # Replacements have the same length, so that indices do not move.
    plain = _PART_OF_EMOJI.sub(lambda part: "x" * len(part[0]), text)
    found = {}
    for place, letter in enumerate(plain):
        kind = unicodedata.category(letter)
        is_hidden = kind in _HIDDEN_KINDS and not _EMOJI_KEPT.match(letter)
        # A mark combines with the character before it.
        is_alone = kind[0] == "M" and plain[place - 1 : place].strip() == ""
        if is_hidden or is_alone or _HIDDEN.match(letter):
            found[place] = letter
    return found
