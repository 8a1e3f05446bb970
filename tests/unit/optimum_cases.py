"""Small processes, each with the joint law of its visible days and the next one by the oracle."""

import functools
from typing import Any, NamedTuple

import numpy as np

from attnlab.generators import Custom, DotMod, HiddenMarkov, Markov, NDays, Recall
from tests.unit import optimum_oracles as oracles


class Case(NamedTuple):
    """A generator, the visible days, and p(visible days, next day)."""

    generator: Any
    length: int
    joint: np.ndarray


def _markov(initial, transition, length=4):
    generator = Markov(initial=initial, transition=transition)
    return generator, length, lambda: oracles.markov_joint(initial, transition, length + 1)


def _recall(days, length, independent, **options):
    generator = Recall(days=days, **options)
    row = generator.table.reshape((3,) * (len(days) + 1)).__getitem__
    law = functools.partial(oracles.recall_joint, days, independent, row)
    return generator, length, lambda: law(length + 1, length + 1)


def _recall_end(days, length, independent, **options):
    """Only the last `length` days before the one decided are visible."""
    generator, shown, whole = _recall(days, max(days), independent, **options)
    hidden = tuple(range(shown - length))
    return generator, length, lambda: whole().sum(axis=hidden)


def _ndays(n, length):
    return NDays(n=n), length, lambda: oracles.stream_joint(oracles.ndays_rule(n), length + 1)


def _dotmod(n, noise, length, variant):
    values = {"described": (0, 1, 2), "published": (1, 2, 3)}[variant]
    generator = DotMod(n=n, noise=noise, variant=variant)
    rule = oracles.dotmod_rule(n, noise, values)
    return generator, length, lambda: oracles.stream_joint(rule, length + 1)


def _hmm(initial, moving, showing, length=4):
    generator = HiddenMarkov(initial=initial, moving=moving, showing=showing)
    return generator, length, lambda: oracles.hidden_joint(initial, moving, showing, length + 1)


def _custom(symbols, order, table, length=4):
    generator = Custom(symbols=symbols, order=order, table=table)
    return generator, length, lambda: oracles.table_joint(table, order, length + 1)


CYCLE = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
PAIRS = ((0.5, 0.3, 0.2), (0.1, 0.1, 0.8), (0.2, 0.6, 0.2), (0.9, 0.05, 0.05), (0.3, 0.3, 0.4),
         (0.1, 0.7, 0.2), (0.25, 0.25, 0.5), (0.4, 0.2, 0.4), (0.05, 0.15, 0.8))  # fmt: skip
MOODS = ((0.5, 0.5), ((0.9, 0.1), (0.2, 0.8)), ((0.7, 0.2, 0.1), (0.1, 0.3, 0.6)))

_MAKERS = {
    "markov": lambda: _markov(oracles.START, oracles.NEXT),
    "markov-forbidding": lambda: _markov(
        (0.5, 0.5, 0.0), ((0.0, 1.0, 0.0), (0.25, 0.25, 0.5), (1.0, 0.0, 0.0)), length=5
    ),
    "recall": lambda: _recall((1, 2, 4), 4, {1, 2, 4}),
    "recall-longer": lambda: _recall((1, 2, 4), 5, {1, 2, 4}, table_seed=3),
    "recall-published": lambda: _recall((1, 2, 4), 4, {1, 3}, variant="published"),
    "recall-hidden": lambda: _recall_end((1, 3, 6), 4, {1, 3, 6}, table_seed=1),
    "recall-hidden-all-but-one": lambda: _recall_end((1, 2, 5), 2, {1, 2, 5}),
    "recall-hidden-published": lambda: _recall_end((1, 3, 6), 3, {1, 4, 7}, variant="published"),
    "recall-late": lambda: _recall_end((4, 6), 4, {1, 4, 6}),
    "ndays-1": lambda: _ndays(1, 4),
    "ndays-3": lambda: _ndays(3, 4),
    "ndays-5": lambda: _ndays(5, 3),
    "dotmod-2": lambda: _dotmod(2, 0.04, 4, "described"),
    "dotmod-5": lambda: _dotmod(5, 0.2, 4, "described"),
    "dotmod-published-3": lambda: _dotmod(3, 0.04, 4, "published"),
    "hmm": lambda: _hmm(*MOODS),
    "hmm-forbidding": lambda: _hmm(
        (1.0, 0.0, 0.0),
        ((0.5, 0.5, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5)),
        ((1.0, 0.0, 0.0), (0.0, 0.6, 0.4), (0.3, 0.0, 0.7)),
    ),
    "custom": lambda: _custom("a b c", 1, ((0.1, 0.8, 0.1), (0.1, 0.1, 0.8), (0.8, 0.1, 0.1))),
    "custom-cycle": lambda: _custom("a b c", 1, CYCLE),
    "custom-two-islands": lambda: _custom(
        "a b c d",
        1,
        ((0.5, 0.5, 0.0, 0.0), (0.1, 0.9, 0.0, 0.0), (0.2, 0.2, 0.1, 0.5), (0.0, 0.0, 0.0, 1.0)),
        length=3,
    ),
    "custom-pairs": lambda: _custom("a b c", 2, PAIRS),
    "custom-two-symbols": lambda: _custom(
        "🌱 🍂", 2, ((0.9, 0.1), (0.0, 1.0), (0.5, 0.5), (0.3, 0.7)), length=5
    ),
}
NAMES = tuple(_MAKERS)


@functools.cache
def case(name):
    """The case of a name; the law is found once and may not be changed."""
    generator, length, joint = _MAKERS[name]()
    law = joint()
    law.setflags(write=False)
    return Case(generator, length, law)
