"""Print the figures that are asked for."""

import argparse
import os
import platform
from importlib.metadata import version

from benchmarks.figures import FIGURES


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(FIGURES)} (default: all)"
    )
    names = parser.parse_args().names or list(FIGURES)
    unknown = [name for name in names if name not in FIGURES]
    if unknown:
        parser.error(f"'{unknown[0]}' is none of {', '.join(FIGURES)}")

    versions = ", ".join(f"{package} {version(package)}" for package in ("jax", "equinox", "optax"))
    print(f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores")
    print(f"Python {platform.python_version()}, {versions}")
    print("Medians of rounds taken in turns; least and most in brackets.")
    for name in names:
        print(f"\n{name}: {FIGURES[name].title}", flush=True)
        for row in FIGURES[name].rows():
            print(f"  {row}", flush=True)


if __name__ == "__main__":
    main()
