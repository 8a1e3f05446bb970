"""`python -m attnlab`: sample sequences, train models, compare them, and show the best possible.

Results go to standard output, progress to standard error. A bad argument ends with status 2 and
one line that says what to do; `ending` has the other ways to end before the time.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from attnlab.command_line.compare_command import add_compare, run_compare
from attnlab.command_line.ending import Doing, is_installed_command
from attnlab.command_line.parser import Parser
from attnlab.command_line.process_commands import (
    add_optimum,
    add_sample,
    run_optimum,
    run_sample,
)
from attnlab.command_line.reproduce_command import add_reproduce, run_reproduce
from attnlab.command_line.runs_command import add_runs, run_runs
from attnlab.command_line.train_command import add_train, run_train
from attnlab.configuration.environment import check_devices
from attnlab.configuration.numerics import fix_numerics
from attnlab.runs.library import library_folder


class _Command(NamedTuple):
    """Its flags, and what it does with their values; the exit status."""

    add: Callable[[argparse._SubParsersAction], None]
    run: Callable[[dict[str, Any], Doing], int]


_COMMANDS = MappingProxyType(
    {
        "sample": _Command(add_sample, run_sample),
        "optimum": _Command(add_optimum, run_optimum),
        "train": _Command(add_train, run_train),
        "compare": _Command(add_compare, run_compare),
        "reproduce": _Command(add_reproduce, run_reproduce),
        "runs": _Command(add_runs, run_runs),
    }
)


def main(arguments: Sequence[str] | None = None, doing: Doing | None = None) -> int:
    """Run one command; the exit status. `doing` is told how far it came."""
    fix_numerics()
    values = vars(_parser().parse_args(arguments))
    # Python before 3.13 gives an empty list for the value of `--length=--`.
    values |= {name: "--" for name, value in values.items() if value == [] and name != "numbers"}
    parsed = {name: value for name, value in values.items() if value is not None}
    name = parsed.pop("command")
    try:
        # Before anything is computed: a run that is done could not be kept otherwise.
        library_folder(os.environ)
        if name != "runs":
            check_devices()
        return _COMMANDS[name].run(parsed, doing or Doing())
    except ValueError as error:
        print(f"attnlab: {error}", file=sys.stderr)
        return 2


def _parser() -> Parser:
    parser = Parser(
        prog="attnlab" if is_installed_command() else "python -m attnlab",
        description=(
            "Train small attention models on processes whose best possible prediction is known."
        ),
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for command in _COMMANDS.values():
        command.add(commands)
    return parser
