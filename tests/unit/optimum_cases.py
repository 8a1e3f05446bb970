"""Small processes, each with the joint law of its visible days and the next one by the oracle."""

import functools
from typing import Any, NamedTuple

import numpy as np

from tests.unit.process_cases import custom, dotmod, hmm, markov, ndays, recall


class Case(NamedTuple):
    """A generator, the visible days, and p(visible days, next day)."""

    generator: Any
    length: int
    joint: np.ndarray


CYCLE = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
PAIRS = ((0.5, 0.3, 0.2), (0.1, 0.1, 0.8), (0.2, 0.6, 0.2), (0.9, 0.05, 0.05), (0.3, 0.3, 0.4),
         (0.1, 0.7, 0.2), (0.25, 0.25, 0.5), (0.4, 0.2, 0.4), (0.05, 0.15, 0.8))  # fmt: skip
MOODS = ((0.5, 0.5), ((0.9, 0.1), (0.2, 0.8)), ((0.7, 0.2, 0.1), (0.1, 0.3, 0.6)))

# Each with its visible days.
_CASES = {
    "markov": (markov(), 4),
    "markov-forbidding": (
        markov((0.5, 0.5, 0.0), ((0.0, 1.0, 0.0), (0.25, 0.25, 0.5), (1.0, 0.0, 0.0))), 5,
    ),
    "recall": (recall((1, 2, 4), {1, 2, 4}, horizon=4), 4),
    "recall-longer": (recall((1, 2, 4), {1, 2, 4}, horizon=5, table_seed=3), 5),
    "recall-published": (recall((1, 2, 4), {1, 3}, horizon=4, variant="published"), 4),
    # Of these only the last days before the one decided are visible.
    "recall-hidden": (recall((1, 3, 6), {1, 3, 6}, horizon=6, hidden=2, table_seed=1), 4),
    "recall-hidden-all-but-one": (recall((1, 2, 5), {1, 2, 5}, horizon=5, hidden=3), 2),
    "recall-hidden-published": (
        recall((1, 3, 6), {1, 4, 7}, horizon=6, hidden=3, variant="published"), 3,
    ),
    "recall-late": (recall((4, 6), {1, 4, 6}, horizon=6, hidden=2), 4),
    "ndays-1": (ndays(1), 4),
    "ndays-3": (ndays(3), 4),
    "ndays-5": (ndays(5), 3),
    "dotmod-2": (dotmod(2, 0.04), 4),
    "dotmod-5": (dotmod(5, 0.2), 4),
    "dotmod-published-3": (dotmod(3, 0.04, "published"), 4),
    "hmm": (hmm(*MOODS), 4),
    "hmm-forbidding": (
        hmm(
            (1.0, 0.0, 0.0),
            ((0.5, 0.5, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5)),
            ((1.0, 0.0, 0.0), (0.0, 0.6, 0.4), (0.3, 0.0, 0.7)),
        ),
        4,
    ),
    "custom": (custom(1, ((0.1, 0.8, 0.1), (0.1, 0.1, 0.8), (0.8, 0.1, 0.1))), 4),
    "custom-cycle": (custom(1, CYCLE), 4),
    "custom-two-islands": (
        custom(
            1,
            ((0.5, 0.5, 0, 0), (0.1, 0.9, 0, 0), (0.2, 0.2, 0.1, 0.5), (0, 0, 0, 1.0)),
            "a b c d",
        ),
        3,
    ),
    "custom-pairs": (custom(2, PAIRS), 4),
    "custom-two-symbols": (
        custom(2, ((0.9, 0.1), (0.0, 1.0), (0.5, 0.5), (0.3, 0.7)), "🌱 🍂"), 5,
    ),
}  # fmt: skip
NAMES = tuple(_CASES)


@functools.cache
def case(name):
    """The case of a name; the law is found once and may not be changed."""
    process, length = _CASES[name]
    law = process.joint(length + 1)
    law.setflags(write=False)
    return Case(process.generator, length, law)
