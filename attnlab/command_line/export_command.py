"""The command `export`, which writes a run as an interactive page."""

import argparse
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from attnlab.command_line.output import ADDRESS, check_output, write_output
from attnlab.command_line.parser import CommandProgress
from attnlab.command_line.train_command import read_run_file
from attnlab.configuration.options import OptionError
from attnlab.film import film_of, film_page, words_of
from attnlab.runs.history import current_versions
from attnlab.runs.library import Library, LibraryError, library_folder
from attnlab.runs.run import Run
from attnlab.runs.run_summary import RunSummary


def add_export(commands: argparse._SubParsersAction) -> None:
    """Add the command `export`."""
    export = commands.add_parser("export", help="write a run as an interactive page")
    export.add_argument("run", help="a run file, or the number that `runs list` prints")
    export.add_argument("--html", metavar="FILE", required=True, help="the page to write")
    add_address(export, "page")


def add_address(command: argparse.ArgumentParser, of: str) -> None:
    """Add the flag of the address for the link of a page or a card."""
    words = f"where attnlab runs, for the {of}'s link (default {ADDRESS})"
    command.add_argument("--address", default=ADDRESS, help=words)


def check_address(address: str) -> str:
    """Return the address without a final slash; raise `OptionError` unless it is one of the web."""
    if urlsplit(address).scheme not in ("http", "https"):
        remedy = "Name a web address, such as https://example.org"
        raise OptionError("address", address, "not a web address", remedy)
    return address.rstrip("/")


def run_export(parsed: dict[str, Any], progress: CommandProgress) -> int:
    """Write the film of a run, with its name and note; return the exit status."""
    file, address = parsed["html"], check_address(parsed["address"])
    check_output("html", file)
    run, entry = run_and_entry(parsed["run"])
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


def run_and_entry(named: str) -> tuple[Run, RunSummary | None]:
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
