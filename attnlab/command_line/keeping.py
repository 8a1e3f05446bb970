"""The library as commands use it: what it cannot do is told, and never ends a command."""

import os
import sys

from attnlab.runs.library import Library, LibraryError, library_folder
from attnlab.runs.result import Result


def open_library() -> Library | None:
    """The user's library; None if it is off or cannot be opened, which is told."""
    folder = library_folder(os.environ)
    if folder is None:
        return None
    try:
        return Library(folder)
    except LibraryError as error:
        _tell(error)
        return None


def keep(result: Result) -> None:
    """Keep one result in the user's library."""
    library = open_library()
    if library is None:
        return
    try:
        library.keep(result)
    except (LibraryError, ValueError) as error:
        _tell(error)
    finally:
        library.close()


def _tell(error: Exception) -> None:
    print(f"attnlab: not kept in the library. {error}", file=sys.stderr)
