"""`python -m attnlab`: sample sequences, train models, compare them, and show the best possible.

Results go to standard output, progress to standard error, both in UTF-8. After a bad argument, the
command prints one line with the remedy and exits with status 2.

After Ctrl-C, it prints how far it got, and exits with status 130 = 128 + SIGINT; likewise after
SIGTERM with 143 and after SIGHUP with 129. Python handles a signal only between two calls of
compiled code, so a compilation or a chunk of steps ends first.
After a closed pipe, such as that to `head -1`, it prints nothing and exits with status 141 =
128 + SIGPIPE, as shells report it. After a failed write, such as to a full disk, it prints the
reason and exits with status 1. The last two also hold for standard error.
"""

import argparse
import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from attnlab import __version__
from attnlab.command_line.card_command import add_card, run_card
from attnlab.command_line.check_command import add_check, run_check
from attnlab.command_line.export_command import add_export, run_export
from attnlab.command_line.many_runs import add_compare, run_compare
from attnlab.command_line.measure_command import (
    add_measure,
    add_probe,
    run_measure,
    run_probe,
)
from attnlab.command_line.parser import CommandProgress, Parser, whole_number
from attnlab.command_line.process_commands import (
    add_optimum,
    add_sample,
    run_optimum,
    run_sample,
)
from attnlab.command_line.reproduce_command import add_reproduce, run_reproduce
from attnlab.command_line.runs_command import add_runs, run_runs
from attnlab.command_line.signals import raise_on_signals
from attnlab.command_line.train_command import add_train, run_train
from attnlab.configuration.environment import app_folder, check_devices, quiet_xla
from attnlab.configuration.numerics import fix_numerics
from attnlab.configuration.options import OptionError
from attnlab.registering import import_file
from attnlab.runs.library import library_folder


def _add_app(commands: argparse._SubParsersAction) -> None:
    """Add the command `app`."""
    opening = commands.add_parser("app", help="open the app in the browser")
    opening.add_argument(
        "module", nargs="?", metavar="FILE", help="a Python file that registers your own classes"
    )
    opening.add_argument("--port", help="port of the server (default 8501)")
    opening.add_argument("--no-browser", action="store_true", help="do not open a browser")


# Packages of the extra `app`.
_NEEDED = ("streamlit", "vl_convert", "markdown_it")


def _run_app(parsed: dict[str, Any], progress: CommandProgress) -> int:
    """Start the app, on POSIX in place of this process, and return its exit status."""
    if any(find_spec(package) is None for package in _NEEDED):
        raise ValueError('The app is not installed. Run `pip install "attnlab[app]"`.')
    command = [sys.executable, "-m", "streamlit", "run", str(app_folder() / "app.py")]
    if "port" in parsed:
        port = whole_number("port", parsed["port"], 1, 65_535)
        command += ["--server.port", str(port)]
    if parsed["no_browser"]:
        command += ["--server.headless", "true"]
    environment = dict(os.environ)
    if "module" in parsed:
        file = Path(parsed["module"]).absolute()
        if not file.is_file():
            raise OptionError("module", parsed["module"], "no such file", "Name a Python file")
        environment["ATTNLAB_MODULE"] = str(file)
    if os.name == "posix":
        os.execve(sys.executable, command, environment)
    return subprocess.call(command, env=environment)


# By name, the functions that add a command's flags, and that run it and return the exit status.
_COMMANDS = {
    "app": (_add_app, _run_app),
    "sample": (add_sample, run_sample),
    "optimum": (add_optimum, run_optimum),
    "check": (add_check, run_check),
    "train": (add_train, run_train),
    "measure": (add_measure, run_measure),
    "probe": (add_probe, run_probe),
    "compare": (add_compare, run_compare),
    "reproduce": (add_reproduce, run_reproduce),
    "export": (add_export, run_export),
    "card": (add_card, run_card),
    "runs": (add_runs, run_runs),
}


def main(arguments: Sequence[str] | None = None, progress: CommandProgress | None = None) -> int:
    """Run one command and return its exit status; a long command reports to `progress`."""
    fix_numerics()
    quiet_xla()
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        # First, since flags and choices follow from the registered classes.
        modules = Parser(add_help=False)
        modules.add_argument("--module")
        if (module := modules.parse_known_args(arguments)[0].module) is not None:
            # Python before 3.13 returns an empty list for the value of `--module=--`.
            import_file("--" if module == [] else module)
        values = vars(_parser().parse_args(arguments))
        some = ("numbers", "names")
        values |= {n: "--" for n, value in values.items() if value == [] and n not in some}
        parsed = {name: value for name, value in values.items() if value is not None}
        name = parsed.pop("command")
        if name != "app":
            parsed.pop("module", None)
        # Check the library before computing anything, so that finished runs can be saved.
        library_folder(os.environ)
        if name not in ("app", "runs"):
            check_devices()
        return _COMMANDS[name][1](parsed, progress or CommandProgress())
    except ValueError as error:
        print(f"attnlab: {error}", file=sys.stderr)
        return 2


def _parser() -> Parser:
    # Whether this process was started by the command `attnlab` that pip installs.
    is_installed = os.path.splitext(os.path.basename("".join(sys.argv[:1])))[0] == "attnlab"
    parser = Parser(
        prog="attnlab" if is_installed else "python -m attnlab",
        description=(
            "Train small attention models on processes whose best possible prediction is known."
        ),
    )
    parser.add_argument("--version", action="version", version=f"attnlab {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for add, _ in _COMMANDS.values():
        add(commands)
    for name, command in commands.choices.items():
        if name not in ("app", "runs"):
            words = "a Python file that registers your own classes and measures"
            command.add_argument("--module", metavar="FILE", help=words)
    return parser


_PIPE_CLOSED, _WRITE_FAILED = 141, 1


def status_of(command: Callable[[CommandProgress], int]) -> int:
    """Run a command and return its status; end the process after a signal or a failed write."""
    if sys.stderr is None:
        # The user has closed it; `print(file=None)` would write to standard output instead.
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    streams: Any = filter(None, (sys.stdout, sys.stderr))
    for stream in streams:
        # UTF-8 in every environment, since many encodings lack the symbols of processes.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    progress = CommandProgress()
    try:
        raise_on_signals()
        if sys.stdout is None:
            raise OSError(errno.EBADF, "standard output is closed")
        try:
            status = command(progress)
        except SystemExit as end:
            status = cast(int, end.code)
        sys.stdout.flush()
        sys.stderr.flush()
        return status
    except KeyboardInterrupt as error:
        _report(f"interrupted {progress.words}")
        status = 128 + next(iter(error.args), signal.SIGINT)
    except BrokenPipeError:
        status = _PIPE_CLOSED
    except OSError as error:
        _report(f"the output could not be written: {error.strerror or error}")
        status = _WRITE_FAILED
    # Python would try again to write buffered output, and crash by ending threads of compiled code.
    os._exit(status)


def _report(what: str) -> None:
    """Write one line to standard error, or nothing if that fails."""
    with suppress(OSError):
        # Bypass Python's buffer, which may still contain the output of a failed write.
        os.write(sys.stderr.fileno(), f"attnlab: {what}.\n".encode(errors="backslashreplace"))
