"""The results that come with the program, made by `python -m tools.known_results`."""

import functools
import importlib.resources
import json

from attnlab.comparisons import published
from attnlab.comparisons.published import PARTS, Made, shipped_results
from attnlab.known_results import blog_post
from attnlab.known_results.entry import KnownResult, Numbers

FILE = "shipped.json"


@functools.cache
def _shipped() -> dict[str, tuple[Made, Numbers]]:
    text = importlib.resources.files("attnlab.known_results").joinpath(FILE).read_text("utf-8")
    return {
        name: (Made(**record["made"]), _with_seeds(record["numbers"]))
        for name, record in json.loads(text).items()
    }


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
    if known is blog_post.RESULT:
        made = published.shipped().made
        return made, known.numbers_of(shipped_results(PARTS["table"]))
    return _shipped()[known.name]
