"""A published comparison of attention with a linear model, and attnlab's reproduction of it."""

import dataclasses
import functools
import importlib.resources
import itertools
import json
import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from attnlab.comparisons.grid import Grid, Setting, experiments_of
from attnlab.comparisons.summary import References
from attnlab.configuration.options import OptionError, choose_one_of, present
from attnlab.models import MODELS
from attnlab.optimum import Best
from attnlab.runs.run_summary import RunSummary
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment, from_json
from attnlab.training.presets import PRESETS, switches_of
from attnlab.training.steps import Training

POST = (
    "“Understanding what self-attention is doing”, a blog post (English, 10 May 2023; Japanese, "
    "9 May 2023)"
)
# Each accuracy comes from one run, tested on this many sequences.
TEST_SEQUENCES = 1_000


class Published(NamedTuple):
    """Test accuracies of one row in the English and the Japanese post, or None."""

    english: float | None = None
    japanese: float | None = None

    @property
    def figures(self) -> tuple[float, ...]:
        """The accuracies that are not None."""
        return tuple(figure for figure in self if figure is not None)


# By process and model, as in the post.
PUBLISHED = MappingProxyType(
    {
        ("markov", "attention"): Published(0.498, 0.498),
        ("markov", "linear"): Published(),
        ("recall", "attention"): Published(0.402, 0.389),
        ("recall", "linear"): Published(0.442, 0.423),
        ("ndays10", "attention"): Published(0.363, 0.332),
        ("ndays10", "linear"): Published(0.416, 0.376),
        ("ndays15", "attention"): Published(0.356, 0.314),
        ("ndays15", "linear"): Published(0.342, 0.369),
        ("dotmod", "attention"): Published(0.435, 0.448),
        ("dotmod", "linear"): Published(0.744, 0.699),
    }
)


def standard_error(accuracy: float) -> float:
    """Return the standard error of a published accuracy: √(p (1 - p) / 1,000).

    >>> round(standard_error(0.5), 4)
    0.0158
    """
    return math.sqrt(accuracy * (1 - accuracy) / TEST_SEQUENCES)


PROCESSES = tuple(dict.fromkeys(process for process, _ in PUBLISHED))
# The processes on which the post's head falls far short.
SWITCHED = ("recall", "dotmod")
# Not all of `MODELS`, so that a new model changes no existing result.
FAMILIES = (
    "linear", "mlp", "conv", "rnn", "gru", "lstm", "ssm", "attention", "transformer",
)  # fmt: skip
# The same for every model. The decaying learning rate helps all of them.
_ZOO_TRAINING = Training(
    steps=1_500,
    data="fresh",
    batch=128,
    learning_rate=0.01,
    schedule="warm-up-cosine",
    clip=1.0,
)


@dataclasses.dataclass(frozen=True)
class Part:
    """One of the comparisons: its settings, and the number of seeds for each.

    A setting has the options `process` and `model`; in the part `ladder`, `model` names a preset.
    """

    name: str
    seeds: int
    settings: tuple[Setting, ...]


def part_named(name: str, processes: Iterable[str] = PROCESSES) -> Part:
    """Return the part of that name, with its settings on the given processes only.

    Raises:
        OptionError: If the name is not one of `PARTS`.

    """
    if name not in PARTS:
        raise OptionError("part", name, "not a part", choose_one_of(PARTS, name))
    part, wanted = PARTS[name], set(processes)
    kept = tuple(s for s in part.settings if dict(s.options)["process"] in wanted)
    return dataclasses.replace(part, settings=kept)


def runs_of(part: Part, seeds: int) -> tuple[Experiment, ...]:
    """Return the runs of every setting with the seeds 0, 1, … `seeds` - 1.

    Raises:
        OptionError: If there are fewer than 1 or more than 100 seeds.

    """
    grid = Grid(seeds=seeds)
    return tuple(run for setting in part.settings for run in experiments_of(setting, grid))


def _setting(process: str, model: str, experiment: Experiment) -> Setting:
    return Setting((("process", process), ("model", model)), experiment)


def _published(process: str, model: str) -> Experiment:
    return PRESETS[f"published-{process}-{model}"].experiment


def _ladder() -> tuple[Setting, ...]:
    return tuple(
        _setting(process, preset, PRESETS[preset].experiment)
        for process in SWITCHED
        for preset in switches_of(process)
    )


def _zoo() -> tuple[Setting, ...]:
    return tuple(
        _setting(
            process,
            family,
            Experiment(
                generator=_published(process, "linear").generator,
                model=MODELS[family](),
                training=_ZOO_TRAINING,
            ),
        )
        for process in PROCESSES
        for family in FAMILIES
    )


PARTS = MappingProxyType(
    {
        part.name: part
        for part in (
            Part("table", 8, tuple(_setting(*row, _published(*row)) for row in PUBLISHED)),
            Part("ladder", 8, _ladder()),
            Part("zoo", 8, _zoo()),
        )
    }
)


FILE = "published.json"
# The columns of a setting, besides its seeds and seconds.
FIGURES = Evaluation._fields[:4]


@dataclasses.dataclass(frozen=True)
class Made:
    """When, by which versions and on what kind of machine results were made."""

    date: str
    attnlab: str
    jax: str
    machine: str

    def __str__(self):
        return f"{self.date} with attnlab {self.attnlab} and JAX {self.jax} on {self.machine}"


@dataclasses.dataclass(frozen=True)
class Shipped:
    """The results that come with the program.

    `seeds` is the number of seeds per setting, by name of the part; `references` are the baselines
    by process.
    """

    made: Made
    seeds: Mapping[str, int]
    results: tuple[RunSummary, ...]
    references: Mapping[str, References]

    def references_of(self, experiment: Experiment) -> References | None:
        """Return the baselines of an experiment's process; None for another process."""
        for setting in PARTS["table"].settings:
            known = present(setting.experiment)
            if (known.generator, known.length) == (experiment.generator, experiment.length):
                return self.references[dict(setting.options)["process"]]
        return None


@functools.cache
def shipped() -> Shipped:
    """Read the results that come with the program, made by `python -m tools.published`."""
    folder = importlib.resources.files("attnlab.comparisons")
    text = folder.joinpath(FILE).read_text(encoding="utf-8")
    return from_text(text)


def from_text(text: str) -> Shipped:
    """Read results from the text of `FILE`."""
    record = json.loads(text)
    references = {
        process: References(**{name: best and Best(**best) for name, best in each.items()})
        for process, each in record["references"].items()
    }
    results = itertools.chain.from_iterable(map(_results, record["settings"]))
    return Shipped(Made(**record["made"]), record["seeds"], tuple(results), references)


def shipped_results(part: Part) -> tuple[RunSummary, ...]:
    """Return the shipped results of a part."""
    seeds, experiments = shipped().seeds[part.name], {s.experiment for s in part.settings}
    return tuple(
        result
        for result in shipped().results
        if result.experiment.seed < seeds
        and dataclasses.replace(result.experiment, seed=0) in experiments
    )


def _results(record: Mapping[str, Any]) -> Iterable[RunSummary]:
    experiment = from_json(json.dumps(record["experiment"]))
    columns = [record[name] for name in ("seeds", "seconds", *FIGURES)]
    for seed, seconds, *figures in zip(*columns, strict=True):
        yield RunSummary(
            dataclasses.replace(experiment, seed=seed),
            "done",
            Evaluation(*figures),
            steps=experiment.training.steps,
            seconds=seconds,
            parameters=record["parameters"],
        )
    for seed, state, reason in record["unfinished"]:
        yield RunSummary(dataclasses.replace(experiment, seed=seed), state, reason=reason)
