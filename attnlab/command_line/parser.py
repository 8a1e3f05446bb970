"""The command-line parser, with one-line errors and help grouped by process and model."""

import argparse
import sys
from collections.abc import Collection, Iterable
from types import MappingProxyType
from typing import Any, NoReturn, TextIO

from attnlab.command_line.output import file_error
from attnlab.configuration.number_text import read_value
from attnlab.configuration.options import Option, OptionError, choose_one_of, options_of, quoted
from attnlab.generators import PROCESSES, TASKS, OwnSequences
from attnlab.generators.own_text import read_text
from attnlab.models import ALL_MODELS
from attnlab.positions import POSITIONS
from attnlab.training.optimisers import OPTIMISERS, SCHEDULES

# argparse's own messages are shorter, unless an argument is very long.
_MOST_CHARACTERS = 300
_KINDS = MappingProxyType(
    {
        "process": PROCESSES,
        "model": ALL_MODELS,
        "position": POSITIONS,
        "optimiser": OPTIMISERS,
        "schedule": SCHEDULES,
    }
)


class CommandProgress:
    """The progress of a command, as text after the word "interrupted" of the message on Ctrl-C."""

    def __init__(self, words: str = "while starting"):
        self.words = words


class Parser(argparse.ArgumentParser):
    """An argument parser that accepts no abbreviated flags and reports errors in one line."""

    def __init__(self, **named):
        super().__init__(**named, allow_abbrev=False)
        self.parts: dict[str, list[tuple[type, dict]]] = {}

    def error(self, message: str) -> NoReturn:
        print(f"attnlab: {_cut(message)}. See `{self.prog} --help`.", file=sys.stderr)
        raise SystemExit(2)

    def print_help(self, file: TextIO | None = None) -> None:
        # Not argparse's method, which ignores a failed write.
        print(self.format_help(), end="", file=file or sys.stdout)

    def format_help(self) -> str:
        sections = map(self.help_of, self.parts)
        return "\n".join([super().format_help(), *sections])

    def help_of(self, name: str) -> str:
        """Return the help text for the flags of one process, model or other part."""
        return "\n".join(_section(part, options) for part, options in self.parts[name])

    def add_options(self, parts: Iterable[type], *, leave_out: Collection[str] = ()) -> None:
        """Add a flag for every option of the parts, and `--help NAME`, which lists a part's flags.

        Options with the same name in several parts share one flag.
        """
        names: dict[str, None] = {}
        for part in parts:
            # `training` has no flag of its own: each of its options has one.
            own = {
                name: spec
                for name, spec in options_of(part).items()
                if name not in {"training", *leave_out}
            }
            names |= dict.fromkeys(own)
            self.parts.setdefault(part.name, []).append((part, own))
        self.add_argument(
            "-h", "--help", nargs="?", action=_Help, metavar="NAME",
            help="print this help, or that of one process, model, position, optimiser or schedule",
        )  # fmt: skip
        for name in names:
            self.add_argument(_flag(name), dest=name, help=argparse.SUPPRESS)
        if "text" in names:
            self.add_argument(
                "--sequences", dest="text", action=_OwnText, metavar="FILE",
                help="your own sequences, as text or CSV; see `--help sequences`",
            )  # fmt: skip
        if "generator" in names:
            self.add_argument("--task", dest="generator", type=_task, help=argparse.SUPPRESS)


class _Help(argparse.Action):
    def __call__(self, parser: Any, namespace, values: Any, option_string=None) -> NoReturn:
        if values is None:
            parser.print_help()
        elif values in parser.parts:
            print(parser.help_of(values), end="")
        else:
            raise argparse.ArgumentError(self, _unknown(values, parser.parts))
        raise SystemExit(0)


class _OwnText(argparse.Action):
    """Takes the text of `--sequences`, and the process that reads it unless one is named."""

    def __call__(self, parser: Any, namespace, values: Any, option_string=None) -> None:
        try:
            # Two hyphens are an empty list here, which is refused with those of other options.
            namespace.text = read_text(values) if values else values
        except OSError as error:
            raise file_error("sequences", values, error) from None
        if getattr(namespace, "generator", None) is None:
            namespace.generator = OwnSequences.name


def _task(text: str) -> str:
    """Check the value of `--task`. Any process is allowed, since a task is a process."""
    # A comparison has several values, and reports an unknown one among others as a row.
    if not any(name.strip() in PROCESSES for name in text.split(",")):
        raise argparse.ArgumentTypeError(_unknown(text, TASKS))
    return text


def _unknown(name: str, names: Collection[str]) -> str:
    return f"{quoted(name)} is unknown. {choose_one_of(names, name)}"


def whole_number(name: str, text: str, low: int, high: int) -> int:
    """Return the integer in a text; raise `OptionError` unless it is from `low` to `high`."""
    value = read_value(name, Option(help=""), text, 0)
    if not low <= value <= high:
        problem = f"not from {low:,} to {high:,}"
        raise OptionError(name, value, problem, "Choose a whole number within")
    return value


def _section(part: type, options: dict) -> str:
    """Return the help text for one part's flags, with the part's name as heading."""
    kinds = [kind for kind, registry in _KINDS.items() if registry.get(part.name) is part]
    section = argparse.ArgumentParser(add_help=False, usage=argparse.SUPPRESS)
    title = " ".join([*kinds, part.name])
    group = section.add_argument_group(title, getattr(part, "summary", None))
    for name, spec in options.items():
        names = list(spec.registry or spec.choices)
        shown = "{" + ",".join(names) + "}" if names else name.upper()
        group.add_argument(_flag(name), metavar=shown, help=spec.help.replace("%", "%%"))
        if name == "generator":
            tasks, same = ",".join(TASKS), "The same flag, for a process that is a task."
            group.add_argument("--task", metavar=f"{{{tasks}}}", help=same)
    return section.format_help().lstrip("\n") or f"{title}: no flags\n"


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _cut(message: str) -> str:
    """Return a message as one line of limited length, since it may quote long arguments."""
    if len(message) > _MOST_CHARACTERS:
        # Keep the end too, which may list the possible choices.
        message = f"{message[:150]} … {message[-147:]}"
    return " ".join(message.split())
