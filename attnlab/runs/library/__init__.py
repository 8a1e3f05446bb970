"""The library of runs: kept in a folder or in memory, found again, and searched."""

from attnlab.runs.library.archive import ArchiveError, TakenIn
from attnlab.runs.library.database import LibraryError
from attnlab.runs.library.library import BIN_DAYS, Library, Problem, default_library, library_folder
from attnlab.runs.library.summary import Entry
from attnlab.runs.library.table import SORTS, Choices, Query

__all__ = [
    "BIN_DAYS",
    "SORTS",
    "ArchiveError",
    "Choices",
    "Entry",
    "Library",
    "LibraryError",
    "Problem",
    "Query",
    "TakenIn",
    "default_library",
    "library_folder",
]
