"""Entry point of the command `attnlab` and of `python -m attnlab`."""

import sys

from attnlab import __version__


def run() -> int:
    """Run the command in the arguments of this process and return its exit status."""
    if sys.argv[1:] == ["--version"]:
        print(f"attnlab {__version__}")
        return 0
    # Imports JAX, which the version can do without.
    from attnlab.command_line.cli import main, status_of

    return status_of(lambda progress: main(progress=progress))


if __name__ == "__main__":
    sys.exit(run())
