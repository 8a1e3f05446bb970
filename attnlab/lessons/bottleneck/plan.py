"""What the lesson on the bottleneck trains: two families over widths of their state and tasks."""

import math
from collections.abc import Iterator

from attnlab.generators import AbstractTask
from attnlab.generators.tasks import Cards, Reverse
from attnlab.models import ALL_MODELS, AbstractModelOptions
from attnlab.training.experiment import Experiment
from attnlab.training.steps import Training

BOTTLENECK, ATTENTION = FAMILIES = ("rnn-bottleneck", "rnn-attention")
WIDTHS = (8, 16, 32, 64, 128)
HANDS = (3, 5, 7, 10)
SEEDS = 4
# Enough for a network that attends to sort ten cards, and few enough for 160 runs.
_SWEPT = Training(
    loss="next", steps=1_000, data="fresh", batch=64, schedule="warm-up-cosine", test_size=2_000
)
_WRITTEN = Training(
    loss="next", steps=2_000, data="fresh", batch=256, schedule="warm-up-cosine", test_size=2_000
)
REVERSED = Reverse(source_length=10, letters=26)
_REVERSED_WIDTH = 32


def swept(family: str, hand: int, width: int) -> Experiment:
    """A run of the sweep: GRU cells of `width` components sort `hand` of 52 cards; seed 0.

    With attention, query and keys are as wide as the state.
    """
    return Experiment(
        generator=Cards(hand=hand), model=_model(family, width, "gru"), training=_SWEPT
    )


def reversing(family: str) -> Experiment:
    """Ten of 26 letters backwards, with tanh cells of 32 components and more steps; seed 0."""
    return Experiment(
        generator=REVERSED, model=_model(family, _REVERSED_WIDTH, "tanh"), training=_WRITTEN
    )


def all_settings() -> Iterator[Experiment]:
    """Every setting of the lesson with seed 0, those that tell most first."""
    for hand in sorted(HANDS, key=lambda hand: hand not in (HANDS[1], HANDS[-1])):
        for width in WIDTHS:
            yield from (swept(family, hand, width) for family in FAMILIES)
        if hand == HANDS[-1]:
            yield from map(reversing, FAMILIES)


def bits_of(task: AbstractTask) -> float:
    """log₂ of how many different targets there are: what it takes to tell one of them, in bits.

    >>> round(bits_of(Cards(hand=5)), 1)
    21.3
    """
    return math.log2(task.targets())


def most_exact_match(task: AbstractTask, states: int) -> float:
    """The largest share of targets written without a mistake by who can tell `states` states apart.

    min(1, states / targets): of all sources that end in one state the same target is written, so
    that no more than `states` targets are ever right; without noise, and where all targets come
    alike, as those of `cards` and of letters written backwards do.

    >>> most_exact_match(Cards(hand=2, suits=1, ranks=4), 3)
    0.5
    """
    return min(1.0, states / task.targets())


def _model(family: str, width: int, cell: str) -> AbstractModelOptions:
    sizes = {"d_attn": width} if family == ATTENTION else {}
    return ALL_MODELS[family](hidden_size=width, cell=cell, **sizes)
