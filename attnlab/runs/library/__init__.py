"""The library of runs: stores, lists and searches them, in a folder or in memory."""

from attnlab.runs.library.archive import MOST_ARCHIVE_BYTES as MOST_ARCHIVE_BYTES
from attnlab.runs.library.archive import ArchiveError as ArchiveError
from attnlab.runs.library.archive import TakenIn as TakenIn
from attnlab.runs.library.archive import is_archive as is_archive
from attnlab.runs.library.files import LibraryError as LibraryError
from attnlab.runs.library.library import BIN_DAYS as BIN_DAYS
from attnlab.runs.library.library import Library as Library
from attnlab.runs.library.library import Problem as Problem
from attnlab.runs.library.library import default_library as default_library
from attnlab.runs.library.library import library_folder as library_folder
from attnlab.runs.library.query import SORTS as SORTS
from attnlab.runs.library.query import Choices as Choices
from attnlab.runs.library.query import Query as Query
