"""The words by which a user knows a run."""

import dataclasses

from attnlab.configuration.options import OptionError, check_visible
from attnlab.configuration.visible_text import normal

MOST_NAME, MOST_NOTE, MOST_TAG, MOST_TAGS = 200, 10_000, 50, 20
# Lines and tabs belong in a note.
NOTE_LAYOUT = "\n\r\t"


@dataclasses.dataclass(frozen=True)
class Description:
    """Name, tags and note of a run. Spaces around them and tags said twice are left out.

    Letters are brought to Unicode's normal form C. Refused, with an `OptionError`: texts that are
    too long or have letters that cannot be seen, tags that are empty and too many of them.

    >>> Description(" first ", ("b", "a", "b")).tags
    ('a', 'b')
    """

    name: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""

    def __post_init__(self):
        name, note = normal(self.name.strip()), normal(self.note.strip())
        tags = tuple(sorted({normal(tag.strip()) for tag in self.tags}))
        _check("name", name, MOST_NAME)
        _check("note", note.translate(dict.fromkeys(map(ord, NOTE_LAYOUT))), MOST_NOTE)
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
    check_visible(option, text)
