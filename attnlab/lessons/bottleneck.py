"""The runs of the lesson on the bottleneck: two families, by width of the state and by task."""

import functools
import math
from collections.abc import Iterator, Mapping

from attnlab.comparisons.grid import Setting, Study
from attnlab.comparisons.shipped import shipped
from attnlab.comparisons.summary import Row, summarise
from attnlab.generators import AbstractTask, Cards, Reverse
from attnlab.models import ALL_MODELS, AbstractModelOptions
from attnlab.training.experiment import Experiment
from attnlab.training.steps import Training

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


def _settings() -> Iterator[Experiment]:
    """Yield every setting of the lesson, the most informative first."""
    for hand in sorted(HANDS, key=lambda hand: hand not in (HANDS[1], HANDS[-1])):
        for width in WIDTHS:
            yield from (swept(family, hand, width) for family in FAMILIES)
        if hand == HANDS[-1]:
            yield from map(reversing, FAMILIES)


@functools.cache
def bottleneck_study() -> Study:
    """Return all runs of the lesson."""
    settings = tuple(Setting((), experiment) for experiment in _settings())
    return Study(settings, SEEDS, name="bottleneck-lesson")


@functools.cache
def bottleneck_rows() -> Mapping[Experiment, Row]:
    """Return the shipped results of every setting over seeds."""
    study = bottleneck_study()
    results = shipped(study.name).results
    rows = summarise(results, study.settings, references=lambda _: None)
    return {row.experiment: row for row in rows}


def bits_of(task: AbstractTask) -> float:
    """Return log₂ of the number of different targets: the bits that identify one of them.

    >>> round(bits_of(Cards(hand=5)), 1)
    21.3
    """
    return math.log2(task.targets())


def _model(family: str, width: int, cell: str) -> AbstractModelOptions:
    sizes = {"d_attn": width} if family == ATTENTION else {}
    return ALL_MODELS[family](hidden_size=width, cell=cell, **sizes)
