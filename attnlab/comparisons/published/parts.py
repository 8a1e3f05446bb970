"""Which runs there are: the published table, the switches that lead away from it, other models."""

import dataclasses
from collections.abc import Iterable
from types import MappingProxyType

from attnlab.comparisons.grid import Grid, Setting, experiments_of
from attnlab.comparisons.published.literature import PUBLISHED
from attnlab.configuration.options import OptionError
from attnlab.models import MODELS
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS, switches_of
from attnlab.training.steps import Training

PROCESSES = tuple(dict.fromkeys(process for process, _ in PUBLISHED))
# Those on which the post's head falls far short.
SWITCHED = ("recall", "dotmod")
# Named one by one, so that a family that is added changes no result that is there already.
FAMILIES = (
    "linear", "mlp", "conv", "rnn", "gru", "lstm", "ssm", "attention", "transformer",
)  # fmt: skip
# The same for every family. The falling learning rate does all of them good.
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
    """One of the comparisons: its settings, and the number of seeds that each is run with.

    A setting has the options `process` and `model`; that of a switch has the preset's name as
    `model`.
    """

    name: str
    seeds: int
    settings: tuple[Setting, ...]


def part_named(name: str, processes: Iterable[str] = PROCESSES) -> Part:
    """The part of that name, with the settings on some of the processes.

    Refused, with an `OptionError`: a name that is not one of `PARTS`.
    """
    if name not in PARTS:
        choices = ", ".join(f"'{known}'" for known in PARTS)
        raise OptionError("part", name, "not a part", f"Choose one of {choices}")
    part, wanted = PARTS[name], set(processes)
    kept = tuple(s for s in part.settings if dict(s.options)["process"] in wanted)
    return dataclasses.replace(part, settings=kept)


def runs_of(part: Part, seeds: int) -> tuple[Experiment, ...]:
    """Every setting with the seeds 0, 1, … `seeds` - 1.

    Refused, with an `OptionError`: fewer than 1 seed or more than 100.
    """
    grid = Grid(seeds=seeds)
    return tuple(run for setting in part.settings for run in experiments_of(setting, grid))


def _setting(process: str, model: str, experiment: Experiment) -> Setting:
    return Setting((("process", process), ("model", model)), experiment)


def _published(process: str, model: str) -> Experiment:
    return PRESETS[f"published-{process}-{model}"].experiment


def _table() -> tuple[Setting, ...]:
    return tuple(_setting(*row, _published(*row)) for row in PUBLISHED)


def _ladder() -> tuple[Setting, ...]:
    return tuple(
        _setting(process, switch.preset, PRESETS[switch.preset].experiment)
        for process in SWITCHED
        for switch in switches_of(process)
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
            Part("table", 8, _table()),
            Part("ladder", 4, _ladder()),
            Part("zoo", 3, _zoo()),
        )
    }
)
