"""The command `export`, which writes a run as an interactive page."""

import argparse
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from attnlab.command_line.output import check_output, write_output
from attnlab.command_line.parser import CommandProgress
from attnlab.command_line.train_command import read_run_file
from attnlab.configuration.options import OptionError
from attnlab.film import film_of, film_page, words_of
from attnlab.runs.history import current_versions
from attnlab.runs.library import Library, LibraryError, library_folder
from attnlab.runs.run import Run
from attnlab.runs.run_summary import RunSummary

_ADDRESS = "http://localhost:8501"


def add_export(commands: argparse._SubParsersAction) -> None:
    """Add the command `export`."""
    export = commands.add_parser("export", help="write a run as an interactive page")
    export.add_argument("run", help="a run file, or the number that `runs list` prints")
    export.add_argument("--html", metavar="FILE", required=True, help="the page to write")
    export.add_argument(
        "--address",
        default=_ADDRESS,
        help=f"where attnlab runs, for the page's link (default {_ADDRESS})",
    )


def run_export(parsed: dict[str, Any], progress: CommandProgress) -> int:
    """Write the film of a run, with its name and note; return the exit status."""
    file, address = parsed["html"], parsed["address"]
    if urlsplit(address).scheme not in ("http", "https"):
        remedy = "Name a web address, such as https://example.org"
        raise OptionError("address", address, "not a web address", remedy)
    check_output("html", file)
    run, entry = _run_and_entry(parsed["run"])
    progress.words = "while the film was being made"
    film = film_of(run)
    versions = run.history.versions or current_versions()
    words = words_of(
        film,
        name=entry.name if entry else "",
        note=entry.note if entry else "",
        date=f"{entry.date:%Y-%m-%d}" if entry else "",
        version=versions.attnlab,
        address=address,
    )
    return 0 if write_output("html", file, film_page(film, words)) else 1


def _run_and_entry(named: str) -> tuple[Run, RunSummary | None]:
    """Return a run of a file or of the library, and its entry there."""
    if not named.isdecimal() or Path(named).is_file():
        return read_run_file(named, "run"), None
    folder = library_folder(os.environ)
    number = int(named)
    try:
        library = None if folder is None else Library(folder)
        entry = None if library is None else library.entry(number)
        run = None if library is None or entry is None else library.run_of(number)
    except LibraryError as error:
        raise OptionError("run", named, str(error), "Name a run file") from None
    if run is None:
        problem = "no such run" if entry is None else "saved without its model"
        raise OptionError("run", named, problem, "See `attnlab runs list`, or name a run file")
    return run, entry
