"""`python -m attnlab`: sample sequences, train models, compare them, and tell the best possible.

Results go to standard output, progress to standard error. A bad argument ends with status 2 and
one line that says what to do; `ending` has the other ways to end before the time.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TextIO

from attnlab.command_line.compare_command import add_compare, run_compare
from attnlab.command_line.ending import Doing, is_installed_command
from attnlab.command_line.process_commands import (
    add_optimum,
    add_sample,
    run_optimum,
    run_sample,
)
from attnlab.command_line.reproduce_command import add_reproduce, run_reproduce
from attnlab.command_line.runs_command import add_runs, run_runs
from attnlab.command_line.train_command import add_train, run_train
from attnlab.configuration.numerics import fix_numerics

# More than the longest that argparse says of arguments which people write.
_MOST_CHARACTERS = 300


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
    parsed = {
        name: value
        for name, value in vars(_parser().parse_args(arguments)).items()
        if value is not None
    }
    command = _COMMANDS[parsed.pop("command")]
    try:
        return command.run(parsed, doing or Doing())
    except ValueError as error:
        print(f"attnlab: {error}", file=sys.stderr)
        return 2


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        print(f"attnlab: {_cut(message)}. See `{self.prog} --help`.", file=sys.stderr)
        raise SystemExit(2)

    def print_help(self, file: TextIO | None = None):
        # argparse's own is silent about a write that fails.
        print(self.format_help(), end="", file=file or sys.stdout)


def _cut(message: str) -> str:
    """One line of bounded length: a message may repeat arguments of any length."""
    if len(message) > _MOST_CHARACTERS:
        # The end of it may say what could be chosen instead.
        message = f"{message[:150]} … {message[-147:]}"
    return " ".join(message.split())


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="attnlab" if is_installed_command() else "python -m attnlab",
        description=(
            "Train small attention models on processes whose best possible prediction is known."
        ),
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for command in _COMMANDS.values():
        command.add(commands)
    return parser
