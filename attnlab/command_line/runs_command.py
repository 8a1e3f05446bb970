"""The command `runs`, which manages the library, and functions that save runs in it."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attnlab.command_line.output import check_output, file_error, print_json, write_output
from attnlab.command_line.parser import CommandProgress, whole_number
from attnlab.configuration.number_text import show_estimate
from attnlab.configuration.options import OptionError, present
from attnlab.runs.differences import label_of_change
from attnlab.runs.library import (
    MOST_ARCHIVE_BYTES,
    SORTS,
    Library,
    LibraryError,
    Query,
    is_archive,
    library_folder,
)
from attnlab.runs.run_summary import STATES, RunSummary
from attnlab.runs.whole_file import read_bytes
from attnlab.training.experiment import to_json

_MOST_LISTED = 1_000_000
_MOST_PROBLEMS = 20
_FILTERS = ("text", "generator", "model", "tag")
_SHOWN = ("name", "tags", "note", "state", "reason", "steps", "seconds", "parameters")


def open_library() -> Library | None:
    """Return the user's library; None if it is off or, after a message, if opening it failed."""
    folder = library_folder(os.environ)
    if folder is None:
        return None
    try:
        return Library(folder)
    except LibraryError as error:
        _warn(error)
        return None


def keep(result: RunSummary) -> None:
    """Save a result in the user's library, or print why it was not saved."""
    library = open_library()
    if library is None:
        return
    try:
        if (equal := library.equal_run(result)) is None:
            library.keep(result)
        else:
            _warn(f"Run {equal.number} is equal.")
    except (LibraryError, ValueError) as error:
        _warn(error)


def _warn(reason: object) -> None:
    print(f"attnlab: not saved in the library. {reason}", file=sys.stderr)


def add_runs(commands: argparse._SubParsersAction) -> None:
    """Add the command `runs` with its subcommands."""
    runs = commands.add_parser("runs", help="list, show, delete, export and import saved runs")
    actions = runs.add_subparsers(dest="action", required=True)
    listing = actions.add_parser("list", help="print the runs of the library, newest first")
    for name in _FILTERS:
        listing.add_argument(f"--{name}", help=f"only runs with this {name}")
    listing.add_argument("--state", choices=list(STATES), help="only runs in this state")
    listing.add_argument("--sort", choices=list(SORTS), help="the order (default date)")
    listing.add_argument("--most", default="50", help="largest number of runs (default 50)")
    listing.add_argument("--json", action="store_true", help="print one JSON object")
    showing = actions.add_parser("show", help="print all details of one run")
    showing.add_argument("number", help="the number that `runs list` prints")
    showing.add_argument("--json", action="store_true", help="print one JSON object")
    for name, what in (
        ("delete", "move runs to the bin; `restore` brings them back for 30 days"),
        ("restore", "bring runs back from the bin"),
    ):
        action = actions.add_parser(name, help=what)
        action.add_argument("numbers", nargs="+", metavar="number", help="as printed by `list`")
        if name == "delete":
            action.add_argument("--for-good", action="store_true", help="delete them permanently")
    actions.add_parser("empty-bin", help="permanently delete all runs in the bin")
    exporting = actions.add_parser("export", help="export runs to one file")
    exporting.add_argument("file", help="the file to write")
    exporting.add_argument("numbers", nargs="*", metavar="number", help="all runs by default")
    importing = actions.add_parser("import", help="add the runs of a file")
    importing.add_argument("file", help="a file that `export` or the page Library wrote")
    actions.add_parser("rebuild", help="rebuild the index of the library from its files")


def run_runs(parsed: dict[str, Any], progress: CommandProgress) -> int:
    """Run an action of the command `runs`; return status 1 if the library cannot be used."""
    folder = library_folder(os.environ)
    if folder is None:
        problem = "the library is off"
        raise OptionError(
            "ATTNLAB_LIBRARY", os.environ["ATTNLAB_LIBRARY"], problem, "Unset it, or name a folder"
        )
    action = parsed.pop("action")
    progress.words = f"during `runs {action}`"
    try:
        library = Library(folder)
        try:
            return _ACTIONS[action](library, parsed)
        finally:
            _warn_of([problem.text for problem in library.problems()])
    except LibraryError as error:
        print(f"attnlab: {error}", file=sys.stderr)
        return 1


def _warn_of(problems: Sequence[str]) -> None:
    more = len(problems) - _MOST_PROBLEMS
    rest = (f"and {more:,} more problems like these",) if more > 0 else ()
    for problem in (*problems[:_MOST_PROBLEMS], *rest):
        print(f"attnlab: {problem}", file=sys.stderr)


def _list(library: Library, parsed: dict[str, Any]) -> int:
    most = whole_number("most", parsed["most"], 1, _MOST_LISTED)
    query = Query(**{name: parsed[name] for name in (*_FILTERS, "state", "sort") if name in parsed})
    entries, count = library.entries(query, most=most), library.count(query)
    if parsed["json"]:
        print_json({"count": count, "rows": [_record(entry) for entry in entries]})
        return 0
    for entry in entries:
        print(_line(entry))
    if count > len(entries):
        print(f"{len(entries):,} of {count:,}; see --most", file=sys.stderr)
    return 0


def _show(library: Library, parsed: dict[str, Any]) -> int:
    (number,) = _numbers(library, [parsed["number"]])
    entry = library.entry(number)
    if entry is None:
        return 1
    if parsed["json"]:
        print_json(_record(entry))
    else:
        print(_line(entry))
        print_json(_record(entry), indent=2)
    return 0


def _line(entry: RunSummary) -> str:
    result, test = entry.reason or entry.state, entry.evaluation
    if test is not None:
        result = (
            f"accuracy {show_estimate(test.accuracy, test.accuracy_stderr)}  "
            f"loss {show_estimate(test.nll, test.nll_stderr)} nats"
        )
    about = f"{label_of_change(None, entry.experiment)}, seed {entry.experiment.seed}"
    words = " ".join((entry.name, *(f"#{tag}" for tag in entry.tags))).strip()
    return f"{entry.number:>6}  {entry.kept_at()}  {about:<36} {result}  {words}".rstrip()


def _record(entry: RunSummary) -> dict[str, Any]:
    test, versions = entry.evaluation, present(entry.versions)
    return {
        "number": entry.number,
        "date": entry.date.isoformat(),
        **{name: getattr(entry, name) for name in _SHOWN},
        "test": test and dict(zip(test._fields[:6], test, strict=False)),
        **{f"{name}_version": getattr(versions, name) for name in versions._fields[:3]},
        "platform": versions.platform,
        "experiment": json.loads(to_json(entry.experiment)),
    }


def _delete(library: Library, parsed: dict[str, Any]) -> int:
    numbers = _numbers(library, parsed["numbers"])
    library.delete(numbers, for_good=parsed["for_good"])
    back = f"in the bin; undo: `attnlab runs restore {' '.join(map(str, numbers))}`"
    where = "deleted permanently" if parsed["for_good"] else back
    print(f"{len(numbers)} {where}", file=sys.stderr)
    return 0


def _restore(library: Library, parsed: dict[str, Any]) -> int:
    library.restore(_numbers(library, parsed["numbers"]))
    return 0


def _empty_bin(library: Library, parsed: dict[str, Any]) -> int:
    count = library.count(Query(deleted=True))
    library.empty_bin()
    print(f"{count:,} deleted permanently", file=sys.stderr)
    return 0


def _export(library: Library, parsed: dict[str, Any]) -> int:
    file, numbers = parsed["file"], _numbers(library, parsed["numbers"])
    check_output("file", file)
    numbers = numbers or [entry.number for entry in library.entries(most=_MOST_LISTED)]
    unread = dict(library.problems()).keys()
    if not write_output("file", file, library.export(numbers)):
        return 1
    # Only counted here, since `run_runs` prints the problems.
    bare = dict(library.problems()).keys() - unread
    parts = [f"{len(set(numbers) - unread):,} runs written"]
    parts += [f"{len(bare):,} of them without a model"] if bare else []
    parts += [f"{len(unread):,} damaged"] if unread else []
    print(", ".join(parts), file=sys.stderr)
    return 1 if bare or unread else 0


def _import(library: Library, parsed: dict[str, Any]) -> int:
    file = parsed["file"]
    try:
        data = read_bytes(Path(file), is_right=is_archive, most=MOST_ARCHIVE_BYTES)
    except OSError as error:
        raise file_error("file", file, error) from None
    taken = library.take_in(data)
    _warn_of(taken.refused)
    counts = f"{len(taken.added):,} added", f"{taken.known:,} already there", *taken.left_out
    print(", ".join(counts), file=sys.stderr)
    return 0


def _rebuild(library: Library, parsed: dict[str, Any]) -> int:
    found = library.rebuild()
    # `run_runs` names each file that cannot be read.
    unread = len(library.problems())
    print(f"{found:,} runs found; files that could not be read: {unread:,}", file=sys.stderr)
    return 1 if unread else 0


def _numbers(library: Library, texts: Sequence[str]) -> list[int]:
    numbers = list(dict.fromkeys(whole_number("number", text, 1, 2**53) for text in texts))
    for number in numbers:
        # A damaged run exists; `run_runs` reports it at the end.
        if library.entry(number) is None and number not in dict(library.problems()):
            raise OptionError("number", number, "no such run", "See `runs list`")
    return numbers


_ACTIONS = {
    "list": _list,
    "show": _show,
    "delete": _delete,
    "restore": _restore,
    "empty-bin": _empty_bin,
    "export": _export,
    "import": _import,
    "rebuild": _rebuild,
}
