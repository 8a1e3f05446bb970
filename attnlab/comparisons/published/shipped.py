"""The results that come with the program, made by `python -m tools.published`."""

import dataclasses
import functools
import importlib.resources
import itertools
import json
from collections.abc import Iterable, Mapping
from typing import Any

from attnlab.comparisons.published.parts import PARTS, PROCESSES, Part, part_named
from attnlab.comparisons.summary import References
from attnlab.optimum import Best
from attnlab.runs.result import Result
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment, from_json, to_json

FILE = "shipped.json"
_DIGITS = 6
_FIGURES = Evaluation._fields[:4]


@dataclasses.dataclass(frozen=True)
class Made:
    """When, by what and on what kind of machine results were made."""

    date: str
    attnlab: str
    jax: str
    machine: str


@dataclasses.dataclass(frozen=True)
class Shipped:
    """Results of the parts, with `seeds` seeds a setting by the name of the part.

    `references` are what they are held against, by process.
    """

    made: Made
    seeds: Mapping[str, int]
    results: tuple[Result, ...]
    references: Mapping[str, References]

    def references_of(self, experiment: Experiment) -> References | None:
        """Those of the process of an experiment; None if it is none of these."""
        return next(
            (
                self.references[process]
                for process, (generator, length) in _processes().items()
                if (generator, length) == (experiment.generator, experiment.length)
            ),
            None,
        )


@functools.cache
def shipped() -> Shipped:
    """What comes with the program."""
    text = importlib.resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    return from_text(text)


def to_text(made: Shipped) -> str:
    """As the text of a file, a line for every setting. Refused: results of no part."""
    order = {setting.experiment: None for part in PARTS.values() for setting in part.settings}
    grouped: dict[Experiment, list[Result]] = {experiment: [] for experiment in order}
    for result in made.results:
        grouped[dataclasses.replace(result.experiment, seed=0)].append(result)
    settings = [_record(experiment, runs) for experiment, runs in grouped.items() if runs]
    head = {
        "made": dataclasses.asdict(made.made),
        "seeds": dict(made.seeds),
        "references": {name: _of_references(each) for name, each in made.references.items()},
    }
    parts = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in settings)
    return "{" + ",\n".join([*parts, f'"settings": [\n{lines}\n]']) + "}\n"


def from_text(text: str) -> Shipped:
    """What `to_text` made."""
    record = json.loads(text)
    results = itertools.chain.from_iterable(map(_results, record["settings"]))
    return Shipped(
        Made(**record["made"]),
        record["seeds"],
        tuple(results),
        {name: _references(each) for name, each in record["references"].items()},
    )


def shipped_results(part: Part) -> tuple[Result, ...]:
    """Those of a part."""
    seeds, experiments = shipped().seeds[part.name], {s.experiment for s in part.settings}
    return tuple(
        result
        for result in shipped().results
        if result.experiment.seed < seeds
        and dataclasses.replace(result.experiment, seed=0) in experiments
    )


def _record(experiment: Experiment, runs: Iterable[Result]) -> dict[str, Any]:
    ordered = sorted(runs, key=lambda run: run.experiment.seed)
    done = [run for run in ordered if run.state == "done" and run.evaluation is not None]
    return {
        "experiment": json.loads(to_json(experiment)),
        "parameters": done[0].parameters if done else 0,
        "seeds": [run.experiment.seed for run in done],
        "seconds": [round(run.seconds, 2) for run in done],
        **{
            name: [round(getattr(run.evaluation, name), _DIGITS) for run in done]
            for name in _FIGURES
        },
        "unfinished": [
            [run.experiment.seed, run.state, run.reason] for run in ordered if run not in done
        ],
    }


def _results(record: Mapping[str, Any]) -> Iterable[Result]:
    experiment = from_json(json.dumps(record["experiment"]))
    columns = [record[name] for name in _FIGURES]
    for seed, seconds, *figures in zip(record["seeds"], record["seconds"], *columns, strict=True):
        yield Result(
            dataclasses.replace(experiment, seed=seed),
            "done",
            Evaluation(*figures),
            steps=experiment.training.steps,
            seconds=seconds,
            parameters=record["parameters"],
        )
    for seed, state, reason in record["unfinished"]:
        yield Result(dataclasses.replace(experiment, seed=seed), state, reason=reason)


def _of_references(references: References) -> dict[str, Any]:
    return dataclasses.asdict(references)


def _references(record: Mapping[str, Any]) -> References:
    return References(**{name: best and Best(**best) for name, best in record.items()})


@functools.cache
def _processes() -> Mapping[str, tuple[Any, int]]:
    found = {}
    for process in PROCESSES:
        experiment = part_named("table", [process]).settings[0].experiment
        found[process] = experiment.generator, experiment.length
    return found
