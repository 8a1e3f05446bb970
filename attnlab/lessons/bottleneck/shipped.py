"""The runs that come with the lesson, made by `python -m tools.bottleneck`."""

import dataclasses
import functools
import importlib.resources
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from attnlab.comparisons.published.shipped import Made
from attnlab.training.experiment import Experiment, from_json, to_json

FILE = "shipped.json"
_DIGITS = 6


class SettingFigures(NamedTuple):
    """How well the runs of a setting write, a figure for each seed, from seed 0.

    `exact_match` is the share of test targets that are right from end to end, and `parameters` how
    many weights a run has.
    """

    experiment: Experiment
    parameters: int
    seeds: tuple[int, ...]
    exact_match: tuple[float, ...]


class Shipped(NamedTuple):
    """All that comes with the lesson."""

    made: Made
    settings: tuple[SettingFigures, ...]

    def of(self, experiment: Experiment) -> SettingFigures | None:
        """The runs of a setting; None if there are none."""
        return next((each for each in self.settings if each.experiment == experiment), None)


@functools.cache
def shipped() -> Shipped:
    """What comes with the program."""
    return from_text(
        importlib.resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    )


def to_text(made: Made, settings: Sequence[SettingFigures]) -> str:
    """As the text of a file, a line for every setting."""
    lines = ",\n".join(json.dumps(_record(each), ensure_ascii=False) for each in settings)
    head = json.dumps(dataclasses.asdict(made))
    return f'{{"made": {head},\n"settings": [\n{lines}\n]}}\n'


def from_text(text: str) -> Shipped:
    """What `to_text` made."""
    record = json.loads(text)
    return Shipped(Made(**record["made"]), tuple(map(_figures, record["settings"])))


def _record(found: SettingFigures) -> dict[str, Any]:
    figures = found._asdict() | {"experiment": json.loads(to_json(found.experiment))}
    return {
        name: [round(each, _DIGITS) for each in value] if isinstance(value, tuple) else value
        for name, value in figures.items()
    }


def _figures(record: dict[str, Any]) -> SettingFigures:
    experiment = from_json(json.dumps(record["experiment"]))
    seeds, shares = tuple(record["seeds"]), tuple(record["exact_match"])
    return SettingFigures(experiment, record["parameters"], seeds, shares)
