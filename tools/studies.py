"""Make the results that come with the program: `python -m tools.studies [NAME …] [--workers N]`.

Writes a file for every named study, or for all, to `attnlab/comparisons/results/`: the known
results, of which the blog post has three parts, and the lessons on the bottleneck and on
explanations. Without workers all runs are trained one after another, as on the page, and the
minutes are processor time, so that other programs do not count. Runs that are in the library are
not trained again, so it can be interrupted and resumed; `ATTNLAB_LIBRARY` names the folder.
"""

import argparse
import dataclasses
import datetime
import json
import os
import platform
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import jax

from attnlab import __version__, comparisons
from attnlab.comparisons.grid import Study
from attnlab.comparisons.many import run_all
from attnlab.comparisons.processes import Processes
from attnlab.comparisons.shipped import FOLDER, TEST, Made, Plot, Shipped
from attnlab.comparisons.summary import references_of
from attnlab.known_results import KNOWN_RESULTS, KnownResult
from attnlab.known_results.blog_post import BLOG_POST, PARTS
from attnlab.known_results.over_training import PLOTS
from attnlab.lessons.bottleneck import bottleneck_study
from attnlab.lessons.explanations import explanation_study
from attnlab.runs.library import Library, library_folder
from attnlab.runs.run_summary import RunSummary
from attnlab.training.experiment import Experiment, to_json

_FOLDER = Path(comparisons.__file__).with_name(FOLDER)
_DIGITS = 6


def all_studies() -> dict[str, tuple[Study, ...]]:
    """Return the studies of every file."""
    known = {name: (result.study,) for name, result in KNOWN_RESULTS.items()}
    lessons = {each.name: (each,) for each in (bottleneck_study(), explanation_study())}
    return {**known, BLOG_POST.name: tuple(PARTS.values()), **lessons}


def main(names: Sequence[str], workers: int | None) -> None:
    """Train the runs of the named studies, or of all, and write their files."""
    library = Library(library_folder(os.environ))
    for name, studies in all_studies().items():
        if not names or name in names:
            shipped = _shipped(name, studies, library, workers)
            _FOLDER.joinpath(f"{name}.json").write_text(to_text(shipped), encoding="utf-8")


def _shipped(name: str, studies: Sequence[Study], library: Library, workers: int | None) -> Shipped:
    runs = list(dict.fromkeys(run for study in studies for run in study.runs))
    results, began = [], time.process_time()
    with nullcontext() if workers is None else Processes(workers) as executor:
        for result in run_all(runs, executor, library=library, **studies[0].recording):
            results.append(result)
            print(f"{name}: run {len(results)} of {len(runs)} {result.state}", flush=True)
    minutes = round((time.process_time() - began) / 60, 1)
    order = {run: place for place, run in enumerate(runs)}
    results.sort(key=lambda result: order[result.experiment])
    references, plots = {}, ()
    if name == BLOG_POST.name:
        processes = dict.fromkeys((run.generator, run.length) for run in runs)
        references = {process: references_of(*process) for process in processes}
    if name in PLOTS:
        plots = tuple(PLOTS[name][0](results[0]))
    if (known := KNOWN_RESULTS.get(name)) is not None:
        results = [_with_numbers(known, result) for result in results]
        for verdict in known.verdicts(known.numbers_of(results)):
            print(f"{verdict.says}: {verdict.check.claim} {verdict.in_words()}", flush=True)
    cores = "one core" if workers is None else f"{workers} cores"
    return Shipped(made(cores), tuple(results), minutes, references, plots)


def _with_numbers(known: KnownResult, result: RunSummary) -> RunSummary:
    """Return a result with the numbers of the claims instead of measures over training."""
    found = {
        measure: ((result.steps, number),)
        for numbers in known.numbers_of([result]).values()
        for measure, by_seed in numbers.items()
        for number in by_seed.values()
    }
    return dataclasses.replace(result, metrics=found)


def made(cores: str) -> Made:
    """Return the date, the versions and the machine."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    machine = platform.machine().replace("_", "-")
    return Made(today, __version__, jax.__version__, f"{cores} of {machine}")


def to_text(shipped: Shipped) -> str:
    """Return the text of a file: a line for every setting."""
    grouped: dict[Experiment, list[RunSummary]] = {}
    for result in shipped.results:
        grouped.setdefault(dataclasses.replace(result.experiment, seed=0), []).append(result)
    references, settings = dict(shipped.references), []
    for experiment, runs in grouped.items():
        known = references.pop((experiment.generator, experiment.length), None)
        more = {} if known is None else {"references": dataclasses.asdict(known)}
        settings.append(_record(experiment, runs) | more)
    head: dict[str, Any] = {"made": dataclasses.asdict(shipped.made), "minutes": shipped.minutes}
    if shipped.plots:
        head["plots"] = [_rounded(plot) for plot in shipped.plots]
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    rows = ",\n".join(json.dumps(each, ensure_ascii=False) for each in settings)
    return "{" + ",\n".join([*lines, f'"settings": [\n{rows}\n]']) + "}\n"


def _record(experiment: Experiment, runs: Iterable[RunSummary]) -> dict[str, Any]:
    ordered = sorted(runs, key=lambda run: run.experiment.seed)
    done = [run for run in ordered if run.state == "done"]
    each = [dict(_numbers(run)) for run in done]
    unfinished = [
        [run.experiment.seed, run.state, run.reason] for run in ordered if run not in done
    ]
    return {
        "experiment": json.loads(to_json(experiment)),
        "parameters": done[0].parameters if done else 0,
        "seeds": [run.experiment.seed for run in done],
        "numbers": {
            name: [round(numbers[name], _DIGITS) for numbers in each]
            for name in (each[0] if each else ())
            # A measure may be undefined for some seeds.
            if all(name in numbers for numbers in each)
        },
        **({"unfinished": unfinished} if unfinished else {}),
    }


def _numbers(run: RunSummary) -> Iterator[tuple[str, float]]:
    if run.evaluation is not None:
        yield from ((name, getattr(run.evaluation, name)) for name in TEST)
        if run.evaluation.excess is not None:
            yield "excess", run.evaluation.excess
    if run.exact_match is not None:
        yield "exact_match", run.exact_match
    yield from ((name, series[-1][1]) for name, series in run.metrics.items())
    yield "seconds", run.seconds


def _rounded(plot: Plot) -> Mapping[str, Any]:
    points = [(name, round(x, _DIGITS), round(y, _DIGITS)) for name, x, y in plot.points]
    return plot._asdict() | {"points": points}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these studies")
    parser.add_argument("--workers", type=int, help="number of processes")
    parsed = parser.parse_args()
    main(parsed.names, parsed.workers)
