"""Entry point of `attnlab`, which is also `python -m attnlab`."""

import sys

from attnlab.command_line.ending import Doing, end_when_interrupted, status_of


def run() -> int:
    """Run the command of this process's arguments; its exit status."""
    doing = Doing()
    end_when_interrupted(doing)

    # Here and not above: it takes a while, in which Ctrl-C is answered already.
    from attnlab.command_line.cli import main

    return status_of(lambda: main(doing=doing))


if __name__ == "__main__":
    sys.exit(run())
