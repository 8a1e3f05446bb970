"""Make the results that come with the program: `python -m tools.published [--workers N]`.

Writes `attnlab/comparisons/published/shipped.json`: the published table over 8 seeds, the ladders
of switches over 4, the other models over 3. It takes about an hour on two cores. Runs that the
library holds are not made again, so that it can be interrupted and gone on with;
`ATTNLAB_LIBRARY` names another folder than one's own.
"""

import argparse
import datetime
import os
import platform
import time
import tomllib
from contextlib import nullcontext
from pathlib import Path

import jax

from attnlab.comparisons.many import run_all
from attnlab.comparisons.processes import Processes
from attnlab.comparisons.published import shipped
from attnlab.comparisons.published.parts import PARTS, PROCESSES, part_named, runs_of
from attnlab.comparisons.published.shipped import FILE, Made, Shipped, to_text
from attnlab.comparisons.summary import references_of
from attnlab.runs.library import Library, library_folder

_ROOT = Path(__file__).parents[1]


def main(workers: int | None) -> None:
    """Run all that the library does not hold, and write the file."""
    runs = [run for part in PARTS.values() for run in runs_of(part, part.seeds)]
    runs = list(dict.fromkeys(runs))
    library, results, began = Library(library_folder(os.environ)), [], time.perf_counter()
    with nullcontext() if workers is None else Processes(workers) as executor:
        for result in run_all(runs, executor, library=library):
            results.append(result)
            seconds = time.perf_counter() - began
            print(f"{len(results)} of {len(runs)}: {result.state}, {seconds:,.0f} s", flush=True)
    library.close()
    tables = {process: part_named("table", [process]) for process in PROCESSES}
    made = Shipped(
        Made(
            datetime.datetime.now(datetime.UTC).date().isoformat(),
            tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
                "version"
            ],
            jax.__version__,
            f"{os.cpu_count()} cores of {platform.machine().replace('_', '-')}",
        ),
        {part.name: part.seeds for part in PARTS.values()},
        tuple(results),
        {
            name: references_of(experiment.generator, experiment.length)
            for name, table in tables.items()
            for experiment in [table.settings[0].experiment]
        },
    )
    Path(shipped.__file__).with_name(FILE).write_text(to_text(made), encoding="utf-8")


def _version() -> str:
    """That of this copy, which need not be installed."""
    text = (_ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]["version"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, help="compute in so many processes")
    main(parser.parse_args().workers)
