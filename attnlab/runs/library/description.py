"""The words by which a user knows a run."""

import dataclasses

from attnlab.configuration.options import OptionError

MOST_NAME, MOST_NOTE, MOST_TAG, MOST_TAGS = 200, 10_000, 50, 20


@dataclasses.dataclass(frozen=True)
class Description:
    """Name, tags and note of a run. Spaces around them and tags said twice are left out.

    Refused, with an `OptionError`: texts that are too long or have letters that cannot be shown,
    tags that are empty and too many of them.

    >>> Description(" first ", ("b", "a", "b")).tags
    ('a', 'b')
    """

    name: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""

    def __post_init__(self):
        name, note = self.name.strip(), self.note.strip()
        tags = tuple(sorted({tag.strip() for tag in self.tags}))
        _check("name", name, MOST_NAME)
        # Lines and tabs belong in a note.
        _check("note", "".join(note.splitlines()).replace("\t", " "), MOST_NOTE)
        for tag in tags:
            _check("tags", tag, MOST_TAG)
            if not tag:
                raise OptionError("tags", self.tags, "one is empty", "Leave it out")
        if len(tags) > MOST_TAGS:
            raise OptionError("tags", tags, f"more than {MOST_TAGS}", "Leave some out")
        for field, value in (("name", name), ("tags", tags), ("note", note)):
            object.__setattr__(self, field, value)


def _check(option: str, text: str, most: int) -> None:
    if len(text) > most:
        raise OptionError(option, text, f"more than {most:,} letters", "Shorten it")
    if text != shown(text):
        raise OptionError(option, text, "a letter in it cannot be shown", "Type it anew")


def shown(text: str) -> str:
    """The text on one line, with a question mark for letters that cannot be stored or shown."""
    return "".join("?" if _is_hidden(letter) else letter for letter in " ".join(text.split("\n")))


def _is_hidden(letter: str) -> bool:
    """Whether it is a control character, or half of a character, as JSON can write them."""
    return letter < " " or letter == "\x7f" or "\ud800" <= letter <= "\udfff"
