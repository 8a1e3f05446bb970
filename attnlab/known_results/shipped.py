"""The results that come with the program, made by `python -m tools.known_results`."""

import functools
import importlib.resources
import json
from typing import Any

from attnlab.comparisons.published import Made
from attnlab.known_results.entry import KnownResult, Numbers, Plot

FILE = "shipped.json"


@functools.cache
def _shipped() -> dict[str, dict[str, Any]]:
    text = importlib.resources.files("attnlab.known_results").joinpath(FILE).read_text("utf-8")
    return json.loads(text)


def _with_seeds(numbers: dict) -> Numbers:
    """Return the numbers with seeds as whole numbers, which JSON keeps as texts."""
    return {
        setting: {
            measure: {int(seed): number for seed, number in each.items()}
            for measure, each in of.items()
        }
        for setting, of in numbers.items()
    }


def shipped_numbers(known: KnownResult) -> tuple[Made, Numbers]:
    """Return when the shipped runs of a known result were made, and their numbers."""
    record = _shipped()[known.name]
    return Made(**record["made"]), _with_seeds(record["numbers"])


def shipped_minutes(known: KnownResult) -> float:
    """Return about how many minutes the runs of a known result keep one processor busy."""
    return _shipped()[known.name]["minutes"]


def shipped_plots(known: KnownResult) -> tuple[Plot, ...]:
    """Return the shipped plots of a known result."""
    plots = _shipped()[known.name].get("plots", ())
    return tuple(Plot(**plot | {"points": _points(plot["points"])}) for plot in plots)


def _points(points: list) -> tuple[tuple[str, float, float], ...]:
    return tuple((name, float(x), float(y)) for name, x, y in points)
