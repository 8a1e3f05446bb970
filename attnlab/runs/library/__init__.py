"""The library of runs: stores, lists and searches them, in a folder or in memory."""

from attnlab.runs.library.archive import MOST_BYTES as MOST_ARCHIVE_BYTES
from attnlab.runs.library.archive import TakenIn, is_archive
from attnlab.runs.library.database import LibraryError
from attnlab.runs.library.earlier import ArchiveError
from attnlab.runs.library.library import BIN_DAYS, Library, Problem, default_library, library_folder
from attnlab.runs.library.table import SORTS, Choices, Query

__all__ = [
    "BIN_DAYS",
    "MOST_ARCHIVE_BYTES",
    "SORTS",
    "ArchiveError",
    "Choices",
    "Library",
    "LibraryError",
    "Problem",
    "Query",
    "TakenIn",
    "default_library",
    "is_archive",
    "library_folder",
]
