"""Entry point of the command `attnlab` and of `python -m attnlab`."""

import sys

from attnlab.command_line.cli import main, status_of


def run() -> int:
    """Run the command in the arguments of this process and return its exit status."""
    return status_of(lambda progress: main(progress=progress))


if __name__ == "__main__":
    sys.exit(run())
