"""The runs of the lesson on the bottleneck: two families, by width of the state and by task.

`python -m tools.bottleneck` makes the shipped runs.
"""

import functools
import importlib.resources
import json
import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from attnlab.comparisons.published import Made
from attnlab.generators import AbstractTask, Cards, Reverse
from attnlab.models import ALL_MODELS, AbstractModelOptions
from attnlab.training.experiment import Experiment, from_json_record
from attnlab.training.steps import Training

FILE = "bottleneck.json"
BOTTLENECK, ATTENTION = FAMILIES = ("rnn-bottleneck", "rnn-attention")
WIDTHS = (8, 16, 32, 64, 128)
HANDS = (3, 5, 7, 10)
SEEDS = 4
# Enough for attention to sort ten cards, and few enough for 160 runs.
_SWEPT = Training(
    loss="next", steps=1_000, data="fresh", batch=64, schedule="warm-up-cosine", test_size=2_000
)
_WRITTEN = Training(
    loss="next", steps=2_000, data="fresh", batch=256, schedule="warm-up-cosine", test_size=2_000
)
REVERSED = Reverse(source_length=10, letters=26)
_REVERSED_WIDTH = 32


def swept(family: str, hand: int, width: int) -> Experiment:
    """Return a run of the sweep: GRU cells of `width` components sort a hand of `hand` cards.

    With attention, queries and keys are as wide as the state.
    """
    return Experiment(
        generator=Cards(hand=hand), model=_model(family, width, "gru"), training=_SWEPT
    )


def reversing(family: str) -> Experiment:
    """Return a run in which tanh cells of 32 components reverse ten letters out of 26."""
    return Experiment(
        generator=REVERSED, model=_model(family, _REVERSED_WIDTH, "tanh"), training=_WRITTEN
    )


def all_settings() -> Iterator[Experiment]:
    """Yield every setting of the lesson with seed 0, the most informative first."""
    for hand in sorted(HANDS, key=lambda hand: hand not in (HANDS[1], HANDS[-1])):
        for width in WIDTHS:
            yield from (swept(family, hand, width) for family in FAMILIES)
        if hand == HANDS[-1]:
            yield from map(reversing, FAMILIES)


def bits_of(task: AbstractTask) -> float:
    """Return log₂ of the number of different targets: the bits that identify one of them.

    >>> round(bits_of(Cards(hand=5)), 1)
    21.3
    """
    return math.log2(task.targets())


def _model(family: str, width: int, cell: str) -> AbstractModelOptions:
    sizes = {"d_attn": width} if family == ATTENTION else {}
    return ALL_MODELS[family](hidden_size=width, cell=cell, **sizes)


class SettingFigures(NamedTuple):
    """The results of a setting's runs: one number for each seed.

    `exact_match` is the share of correct test targets, `parameters` the number of weights.
    """

    experiment: Experiment
    parameters: int
    seeds: tuple[int, ...]
    exact_match: tuple[float, ...]


class Shipped(NamedTuple):
    """The runs that come with the program, by setting."""

    made: Made
    settings: Mapping[Experiment, SettingFigures]


@functools.cache
def shipped() -> Shipped:
    """Read the runs that come with the program."""
    text = importlib.resources.files("attnlab.lessons").joinpath(FILE).read_text(encoding="utf-8")
    return from_text(text)


def from_text(text: str) -> Shipped:
    """Read results from the text of `FILE`."""
    record, settings = json.loads(text), {}
    for each in record["settings"]:
        setting = from_json_record(each["experiment"])
        seeds, shares = tuple(each["seeds"]), tuple(each["exact_match"])
        settings[setting] = SettingFigures(setting, each["parameters"], seeds, shares)
    return Shipped(Made(**record["made"]), settings)
