"""A run as it is kept: its history, its file, its link, its script, and others beside it."""

from attnlab.runs.history import History, empty_history, loss_curve
from attnlab.runs.links import Lesson, Link, from_query, to_query
from attnlab.runs.loss_file import to_csv
from attnlab.runs.script import to_script
from attnlab.runs.snapshot import Snapshot
from attnlab.runs.storage import Run, RunFileError, load_run, save_run

__all__ = [
    "History",
    "Lesson",
    "Link",
    "Run",
    "RunFileError",
    "Snapshot",
    "empty_history",
    "from_query",
    "load_run",
    "loss_curve",
    "save_run",
    "to_csv",
    "to_query",
    "to_script",
]
