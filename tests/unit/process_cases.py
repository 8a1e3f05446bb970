"""Generators in several settings, each with the float64 law of its first days."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from attnlab.generators import (
    AbstractGenerator,
    Custom,
    DotMod,
    HiddenMarkov,
    Markov,
    NDays,
    Recall,
)
from tests.unit import optimum_oracles as oracles


class Case(NamedTuple):
    """A generator, and its joint law of the first `length` days from the oracle."""

    generator: AbstractGenerator
    joint: Callable[[int], np.ndarray]


def markov(start=oracles.START, following=oracles.NEXT):
    return Case(
        Markov(initial=start, transition=following),
        functools.cache(functools.partial(oracles.markov_joint, start, following)),
    )


def recall(days, independent, **options):
    generator = Recall(days=days, **options)
    row = generator.table.reshape((3,) * (len(days) + 1)).__getitem__
    law = functools.partial(oracles.recall_joint, days, independent, row, generator.horizon + 1)
    hidden = generator.hidden
    return Case(
        generator,
        functools.cache(lambda length: law(hidden + length).sum(axis=tuple(range(hidden)))),
    )


def ndays(n):
    law = functools.partial(oracles.stream_joint, oracles.ndays_rule(n))
    return Case(NDays(n=n), functools.cache(law))


def dotmod(n, noise, variant="described"):
    values = {"described": (0, 1, 2), "published": (1, 2, 3)}[variant]
    law = functools.partial(oracles.stream_joint, oracles.dotmod_rule(n, noise, values))
    return Case(DotMod(n=n, noise=noise, variant=variant), functools.cache(law))


def hmm(start, moving, showing):
    law = functools.partial(oracles.hidden_joint, start, moving, showing)
    generator = HiddenMarkov(initial=start, moving=moving, showing=showing)
    return Case(generator, functools.cache(law))


def custom(order, table, symbols="a b c"):
    law = functools.partial(oracles.table_joint, table, order)
    return Case(Custom(symbols=symbols, order=order, table=table), functools.cache(law))


PAIRS = tuple(
    (0.1 * (i + 1), 0.1 * (j + 2), 1 - 0.1 * (i + 1) - 0.1 * (j + 2))
    for i in range(3)
    for j in range(3)
)

CASES = {
    "markov": markov(),
    "markov-forbidding": markov(
        (0.5, 0.5, 0.0), ((0.0, 1.0, 0.0), (0.25, 0.25, 0.5), (1.0, 0.0, 0.0))
    ),
    "recall": recall((1, 3), {1, 3}, horizon=4),
    "recall-late": recall((2, 4), {1, 2, 4}, horizon=4, table_seed=5),
    "recall-and-after": recall((1, 2), {1, 2}, horizon=3),
    "recall-published": recall((1, 3), {1, 4}, horizon=4, variant="published"),
    "recall-hidden": recall((1, 3), {1, 3}, horizon=4, hidden=2),
    "recall-hidden-published": recall((1, 2), {1, 3}, horizon=3, hidden=1, variant="published"),
    "hmm": hmm((0.5, 0.5), ((0.9, 0.1), (0.2, 0.8)), ((0.7, 0.2, 0.1), (0.1, 0.3, 0.6))),
    "hmm-forbidding": hmm(
        (1.0, 0.0, 0.0),
        ((0.5, 0.5, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5)),
        ((1.0, 0.0, 0.0), (0.0, 0.6, 0.4), (0.3, 0.0, 0.7)),
    ),
    "custom": custom(1, ((0.1, 0.8, 0.1), (0.1, 0.1, 0.8), (0.8, 0.1, 0.1))),
    "custom-cycle": custom(1, ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))),
    "custom-pairs": custom(2, PAIRS),
    "ndays-1": ndays(1),
    "ndays-2": ndays(2),
    "ndays-4": ndays(4),
    "dotmod-1": dotmod(1, 0.3),
    "dotmod-2": dotmod(2, 0.04),
    "dotmod-4": dotmod(4, 0.1),
    "dotmod-published-2": dotmod(2, 0.2, "published"),
    "dotmod-published-4": dotmod(4, 0.04, "published"),
}
