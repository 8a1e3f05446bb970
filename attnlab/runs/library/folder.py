"""Where the library of a user is."""

import os
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_data_path

from attnlab.configuration.environment import read_folder
from attnlab.runs.library.library import Library

SWITCH = "ATTNLAB_LIBRARY"


def library_folder(environment: Mapping[str, str]) -> Path | None:
    """Return the folder that `ATTNLAB_LIBRARY` names, else the user's own; None if it is off.

    Raises:
        OptionError: if the name begins with `~` and a user that does not exist.

    >>> print(library_folder({"ATTNLAB_LIBRARY": "off"}))
    None
    >>> library_folder({"ATTNLAB_LIBRARY": "runs of May"}).name
    'runs of May'
    """
    return read_folder(SWITCH, user_data_path("attnlab") / "library", environment)


def default_library() -> Library:
    """Return the user's library, opened; if it is off, one in memory for this process alone."""
    return Library(library_folder(os.environ))
