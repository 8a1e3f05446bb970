"""The library of runs: kept in a folder or in memory, found again, looked through."""

from attnlab.runs.library.archive import ArchiveError, TakenIn
from attnlab.runs.library.entry import Entry
from attnlab.runs.library.folder import default_library, library_folder
from attnlab.runs.library.library import BIN_DAYS, Library, Problem
from attnlab.runs.library.library_error import LibraryError
from attnlab.runs.library.query import SORTS, Query
from attnlab.runs.library.table import Choices

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
