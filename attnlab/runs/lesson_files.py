"""Lessons as files: a folder of the server in which each file contains a link, under a short name.

The operator of a server writes them; the program only reads them.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl

from attnlab.configuration.options import OptionError
from attnlab.runs.links import is_link

_SUFFIX = ".txt"
# No dots and no slashes, so that a name never leads out of the folder.
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)
# More than the longest link, whose characters may be escaped.
_MOST_BYTES = 100_000
_REMEDY = "Check the address, or ask for the whole link"


def lesson_names(folder: Path) -> tuple[str, ...]:
    """Return the names of the lessons in a folder, sorted."""
    found = folder.glob(f"*{_SUFFIX}") if folder.is_dir() else ()
    return tuple(
        sorted(each.stem for each in found if each.is_file() and _NAME.fullmatch(each.stem))
    )


def read_lesson(folder: Path | None, name: str) -> Mapping[str, str]:
    """Return the parameters of the link in the file `name`.txt of a folder.

    The file contains a whole link or its query string.

    Raises:
        OptionError: If there is no such file, or it contains no link.
    """
    if folder is None or not _NAME.fullmatch(name):
        raise OptionError("lesson", name, "no lesson on this server", _REMEDY)
    try:
        with (folder / f"{name}{_SUFFIX}").open("rb") as file:
            text = file.read(_MOST_BYTES).decode("utf-8", errors="replace").strip()
    except OSError:
        raise OptionError("lesson", name, "no lesson on this server", _REMEDY) from None
    _, mark, after = text.partition("?")
    query = dict(parse_qsl(after.partition("#")[0] if mark else text))
    if not is_link(query):
        remedy = "Write the link of “Link and lesson” into its file"
        raise OptionError("lesson", name, "a lesson without a link", remedy)
    return query
