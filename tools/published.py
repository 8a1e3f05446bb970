"""Make the results that come with the program: `python -m tools.published [--workers N]`.

Writes `attnlab/comparisons/published.json`: the published table, the ladders of switches and the
other models, each over 8 seeds. It takes over an hour on two cores. Runs that are in the library
are not trained again, so it can be interrupted and resumed; `ATTNLAB_LIBRARY` names the folder.
"""

import argparse
import dataclasses
import datetime
import json
import os
import platform
import time
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import jax

from attnlab import __version__
from attnlab.comparisons import published
from attnlab.comparisons.many import run_all
from attnlab.comparisons.processes import Processes
from attnlab.comparisons.published import FIGURES, PARTS, Made, Shipped, runs_of
from attnlab.comparisons.summary import references_of
from attnlab.runs.library import Library, library_folder
from attnlab.runs.run_summary import RunSummary
from attnlab.training.experiment import Experiment, to_json

_DIGITS = 6


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
    first = {
        dict(setting.options)["process"]: setting.experiment for setting in PARTS["table"].settings
    }
    references = {
        process: references_of(experiment.generator, experiment.length)
        for process, experiment in first.items()
    }
    seeds = {part.name: part.seeds for part in PARTS.values()}
    shipped = Shipped(made(f"{os.cpu_count()} cores"), seeds, tuple(results), references)
    path = Path(published.__file__).with_name(published.FILE)
    path.write_text(to_text(shipped), encoding="utf-8")


def made(cores: str) -> Made:
    """Return the date, the versions and the machine."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    machine = platform.machine().replace("_", "-")
    return Made(today, __version__, jax.__version__, f"{cores} of {machine}")


def to_text(shipped: Shipped) -> str:
    """Return the text of the file: a line for every setting of the parts."""
    order = {setting.experiment: None for part in PARTS.values() for setting in part.settings}
    grouped: dict[Experiment, list[RunSummary]] = {experiment: [] for experiment in order}
    for result in shipped.results:
        grouped[dataclasses.replace(result.experiment, seed=0)].append(result)
    settings = [_record(experiment, runs) for experiment, runs in grouped.items() if runs]
    head = {
        "made": dataclasses.asdict(shipped.made),
        "seeds": dict(shipped.seeds),
        "references": {name: dataclasses.asdict(each) for name, each in shipped.references.items()},
    }
    parts = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in settings)
    return "{" + ",\n".join([*parts, f'"settings": [\n{lines}\n]']) + "}\n"


def _record(experiment: Experiment, runs: Iterable[RunSummary]) -> dict[str, Any]:
    ordered = sorted(runs, key=lambda run: run.experiment.seed)
    done = [run for run in ordered if run.state == "done" and run.evaluation is not None]
    return {
        "experiment": json.loads(to_json(experiment)),
        "parameters": done[0].parameters if done else 0,
        "seeds": [run.experiment.seed for run in done],
        "seconds": [round(run.seconds, 2) for run in done],
        **{
            name: [round(getattr(run.evaluation, name), _DIGITS) for run in done]
            for name in FIGURES
        },
        "unfinished": [
            [run.experiment.seed, run.state, run.reason] for run in ordered if run not in done
        ],
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, help="compute in so many processes")
    main(parser.parse_args().workers)
