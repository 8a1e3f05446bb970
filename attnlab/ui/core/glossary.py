"""The terms of the Glossary page, and links to them."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Term(NamedTuple):
    """A term with its definition.

    `formula` is in LaTeX, or empty. `on` names pages by their titles, `see` other terms.
    """

    name: str
    text: str
    on: str
    formula: str = ""
    see: Sequence[str] = ()

    @property
    def anchor(self) -> str:
        """The last part of the term's address, `/words#anchor`."""
        return re.sub(r"\W+", "-", self.name.lower())


def _read() -> dict[str, Term]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return {name: Term(name, **fields) for name, fields in tomllib.loads(text).items()}


_TERMS = _read()
TERMS = tuple(_TERMS.values())


def link_to(name: str, shown: str = "") -> str:
    """Return a Markdown link to a term, which opens the Glossary beside the page.

    >>> link_to("nat", "nats")
    '[nats](words#nat)'
    """
    return f"[{shown or name}](words#{_TERMS[name].anchor})"


def contains(words: str, *texts: str) -> bool:
    """Return whether a text contains the words, in upper or lower case.

    >>> contains("kl", "KL divergence"), contains("KL", "entropy")
    (True, False)
    """
    return any(words.casefold() in text.casefold() for text in texts)
