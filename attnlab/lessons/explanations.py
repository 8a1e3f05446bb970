"""The league table of methods that explain predictions, its runs, and rankings of sequences."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from attnlab.comparisons.grid import Study, study_of
from attnlab.comparisons.intervals import Interval, student_interval
from attnlab.comparisons.questions import COMPARISONS
from attnlab.comparisons.shipped import shipped
from attnlab.inspection.explanations import METHODS
from attnlab.inspection.referee import PARTS, Truth, Truths, explained_by, levels, truths_of
from attnlab.models import AbstractModel
from attnlab.training.experiment import Experiment, Setup, from_json_record

NAME = "explanations"
# The processes of the shipped rankings.
SHOWN = ("recall", "mess3", "rrxor")
SEEDS = 3


def measure_name(method: str, part: str) -> str:
    """Return the name of a method's measure, for a key of `PARTS`."""
    return f"explains_{method}" + f":{part}" * bool(part)


@functools.cache
def explanation_study() -> Study:
    """Return the runs: those of the comparison, with more seeds and all measures of all methods."""
    metrics = tuple(measure_name(method, part) for part in PARTS for method in METHODS)
    study = study_of(COMPARISONS[NAME].grid)
    return dataclasses.replace(study, seeds=SEEDS, metrics=metrics, name=NAME)


class Place(NamedTuple):
    """The place of a method in the league table.

    `mean` is the mean over processes and seeds, and `interval` the 95 % interval over seeds, each
    of which has one number: its mean over processes. `runs` is the number of runs.
    """

    method: str
    interval: Interval
    runs: int


def league_table(part: str, family: str = "") -> tuple[Place, ...]:
    """Return the methods in the order of one of the `PARTS`, the best first.

    Args:
        part: A key of `PARTS`.
        family: A name of a model family; "" for all.
    """
    results = [
        run
        for run in shipped(NAME).results
        if run.state == "done" and family in ("", run.experiment.model.name)
    ]
    found = []
    for method in METHODS:
        name = measure_name(method, part)
        by_seed: dict[int, list[float]] = {}
        for run in results:
            if name in run.metrics:
                by_seed.setdefault(run.experiment.seed, []).append(run.metrics[name][-1][1])
        if by_seed:
            means = [float(np.mean(values)) for values in by_seed.values()]
            found.append(Place(method, student_interval(means), sum(map(len, by_seed.values()))))
    return tuple(sorted(found, key=lambda place: -place.interval.mean))


class Ranked(NamedTuple):
    """Rankings of the positions of some sequences, beside both truths.

    `scores` has a ranking by the label of its method; of heads, one by each head.
    """

    experiment: Experiment
    tokens: Int[np.ndarray, "sequences length"]
    truths: Truths
    scores: Mapping[str, Float[np.ndarray, "sequences length"]]


def ranked(model: AbstractModel, setup: Setup) -> Ranked:
    """Return the rankings of all methods that apply to a model."""
    explained = explained_by(model, setup)
    scores = {}
    for method in METHODS.values():
        found = method.of(explained)
        if found is not None and found.ndim == 2:
            scores[method.label] = found
        elif found is not None:
            a_layer = getattr(setup.experiment.model, "heads", 1)
            for at in range(found.shape[1]):
                layer, head = divmod(at, a_layer)
                scores[f"layer {layer + 1}, head {head + 1}"] = found[:, at]
    return Ranked(setup.experiment, explained.tokens, truths_of(explained), scores)


def largest(scores: Float[np.ndarray, " length"], count: int) -> Bool[np.ndarray, " length"]:
    """Return which positions have the `count` largest scores; of ties, the first ones."""
    found = np.zeros(scores.size, bool)
    found[np.argsort(-levels(scores), kind="stable")[:count]] = True
    return found


def as_record(found: Ranked, count: int, experiment: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rankings of the first `count` sequences for a file."""
    truths = {
        name: {"size": truth.size[:count], "matters": truth.matters[:count].astype(int)}
        for name, truth in found.truths._asdict().items()
    }
    scores = {label: each[:count] for label, each in found.scores.items()}
    return {"experiment": experiment, "tokens": found.tokens[:count], **truths, "scores": scores}


def from_record(record: Mapping[str, Any]) -> Ranked:
    """Return the rankings that `as_record` wrote."""
    truths = (
        Truth(np.array(record[name]["size"]), np.array(record[name]["matters"], bool))
        for name in Truths._fields
    )
    scores = {label: np.array(each) for label, each in record["scores"].items()}
    tokens = np.array(record["tokens"])
    return Ranked(from_json_record(record["experiment"]), tokens, Truths(*truths), scores)
