"""Results of studies that come with the program, made by `python -m tools.studies`.

A file of `results/` has a line for every setting, with a column of numbers, one for each seed, for
every measure. Measures that not every run has are its metrics at the last step.
"""

import dataclasses
import functools
import importlib.resources
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from attnlab.comparisons.summary import References
from attnlab.generators import AbstractGenerator
from attnlab.optimum import Best
from attnlab.runs.run_summary import RunSummary
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment, from_json_record

FOLDER = "results"
# The columns of a test.
TEST = Evaluation._fields[:4]


@dataclasses.dataclass(frozen=True)
class Made:
    """When, by which versions and on what kind of machine results were made."""

    date: str
    attnlab: str
    jax: str
    machine: str

    def __str__(self):
        return f"{self.date} with attnlab {self.attnlab} and JAX {self.jax} on {self.machine}"


class Plot(NamedTuple):
    """A plot of one shipped run, as plain numbers, drawn by `charts.plot_chart`.

    Attributes:
        title: What it shows.
        look: `line`, one for each name, over a logarithmic axis; `bar`; or `name`, a square in
            which each point is drawn as its name.
        x: The title of the horizontal axis.
        y: That of the vertical axis.
        points: Name, x and y of each point.
    """

    title: str
    look: str
    x: str
    y: str
    points: tuple[tuple[str, float, float], ...]


@dataclasses.dataclass(frozen=True)
class Shipped:
    """The shipped results of a study, and of others with the same runs.

    Attributes:
        made: When, by what and where they were made.
        results: The runs.
        minutes: About how many minutes the runs keep one processor busy, or 0.
        references: What the best possible and other predictors reach, by process and length.
        plots: Plots of the first run of the first setting.
    """

    made: Made
    results: tuple[RunSummary, ...]
    minutes: float = 0.0
    references: Mapping[tuple[AbstractGenerator, int], References] = dataclasses.field(
        default_factory=dict
    )
    plots: tuple[Plot, ...] = ()

    def references_of(self, experiment: Experiment) -> References | None:
        """Return the references of an experiment's process; None for another process."""
        return self.references.get((experiment.generator, experiment.length))


@functools.cache
def shipped(name: str) -> Shipped:
    """Read the results of the study of that name."""
    folder = importlib.resources.files("attnlab.comparisons").joinpath(FOLDER)
    return from_text(folder.joinpath(f"{name}.json").read_text(encoding="utf-8"))


def from_text(text: str) -> Shipped:
    """Read results from the text of a file."""
    record = json.loads(text)
    results, references = [], {}
    for setting in record["settings"]:
        experiment = from_json_record(setting["experiment"])
        results += _results(experiment, setting)
        if "references" in setting:
            known = {name: best and Best(**best) for name, best in setting["references"].items()}
            references[experiment.generator, experiment.length] = References(**known)
    plots = tuple(
        Plot(
            **plot | {"points": tuple((name, float(x), float(y)) for name, x, y in plot["points"])}
        )
        for plot in record.get("plots", ())
    )
    made, minutes = Made(**record["made"]), record.get("minutes", 0.0)
    return Shipped(made, tuple(results), minutes, references, plots)


def _results(experiment: Experiment, setting: Mapping[str, Any]) -> Iterator[RunSummary]:
    steps = experiment.training.steps
    columns = setting["numbers"]
    for at, seed in enumerate(setting["seeds"]):
        found = {name: column[at] for name, column in columns.items()}
        has_test = all(name in found for name in TEST)
        test = Evaluation(*(found.pop(name) for name in TEST)) if has_test else None
        yield RunSummary(
            dataclasses.replace(experiment, seed=seed),
            "done",
            test,
            steps=steps,
            seconds=found.pop("seconds", 0.0),
            parameters=setting["parameters"],
            exact_match=found.pop("exact_match", None),
            metrics={name: ((steps, value),) for name, value in found.items()},
        )
    for seed, state, reason in setting.get("unfinished", ()):
        yield RunSummary(dataclasses.replace(experiment, seed=seed), state, reason=reason)
