"""Where the library of a user is."""

import os
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_data_path

from attnlab.runs.library.library import Library

SWITCH = "ATTNLAB_LIBRARY"
_OFF = ("off", "0", "no", "false")


def library_folder(environment: Mapping[str, str]) -> Path | None:
    """The folder that `ATTNLAB_LIBRARY` names, else the user's own; None if it says "off".

    >>> print(library_folder({"ATTNLAB_LIBRARY": "off"}))
    None
    >>> library_folder({"ATTNLAB_LIBRARY": "runs of May"}).name
    'runs of May'
    """
    wanted = environment.get(SWITCH, "").strip()
    if wanted.lower() in _OFF:
        return None
    return Path(wanted).expanduser() if wanted else user_data_path("attnlab") / "library"


def default_library() -> Library:
    """The user's library, opened; one in memory, which nobody finds again, if it is off."""
    return Library(library_folder(os.environ))
