"""Entry point of `python -m attnlab`."""

import sys

from attnlab.command_line.ending import Doing, end_when_interrupted, status_of

if __name__ == "__main__":
    doing = Doing()
    end_when_interrupted(doing)

    # Here and not above: it takes a while, in which Ctrl-C is answered already.
    from attnlab.command_line.cli import main

    sys.exit(status_of(lambda: main(doing=doing)))
