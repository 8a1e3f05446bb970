"""Tasks in small settings, each with its rule in plain Python and the float64 law it makes."""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from attnlab.generators import Cards, Copy, Reverse, Shift, Sort, Translate


class Case(NamedTuple):
    """A task; `places` says of a source, for each target token, the place it is taken from.

    `spells` is what a token becomes, and `may_repeat` whether a source may have it twice.
    """

    task: object
    places: Callable[[tuple[int, ...]], list[int]]
    spells: Callable[[int], int] = lambda token: token
    may_repeat: bool = True


def _ordered(key):
    return lambda source: sorted(range(len(source)), key=lambda place: key(source[place]))


# What each letter of an alphabet is translated to with a seed of the table. Links and run files
# name the seed alone, so that these never change.
_TRANSLATED = {(4, 3): (3, 2, 1, 0), (3, 0): (2, 0, 1)}


def _swapped(letters):
    def places(source):
        found = list(range(len(source)))
        for first in range(0, len(source) - 1, 2):
            if source[first] >= letters // 2:
                found[first], found[first + 1] = first + 1, first
        return found

    return places


CASES = {
    "cards": Case(
        Cards(hand=2, suits=2, ranks=2), _ordered(lambda card: (card % 2, card // 2)),
        may_repeat=False,
    ),
    "cards by suit, noise": Case(
        Cards(hand=3, suits=1, ranks=4, order="suit then rank", noise=0.3), _ordered(int),
        may_repeat=False,
    ),
    "cards by rank, three suits": Case(
        Cards(hand=3, suits=3, ranks=2), _ordered(lambda card: (card % 2, card // 2)),
        may_repeat=False,
    ),
    "copy, noise": Case(Copy(source_length=2, letters=3, noise=0.2), lambda s: [*range(len(s))]),
    "reverse": Case(Reverse(source_length=3, letters=2), lambda s: [*range(len(s))][::-1]),
    "shift": Case(Shift(source_length=3, letters=2, places=2), lambda s: [1, 2, 0]),
    "sort": Case(Sort(source_length=3, letters=3), _ordered(int)),
    "sort, noise": Case(Sort(source_length=3, letters=2, noise=0.1), _ordered(int)),
    "translate": Case(
        Translate(source_length=3, letters=4, table_seed=3), _swapped(4),
        _TRANSLATED[4, 3].__getitem__,
    ),
    "translate, noise": Case(
        Translate(source_length=2, letters=3, noise=0.4), _swapped(3),
        _TRANSLATED[3, 0].__getitem__,
    ),
}  # fmt: skip


def sources_of(case):
    vocab, count = case.task.vocabulary.size, case.task.source_length
    if case.may_repeat:
        return [*itertools.product(range(vocab), repeat=count)]
    return [*itertools.permutations(range(vocab), count)]


def target_of(case, source):
    return tuple(case.spells(source[place]) for place in case.places(source))


def joint_of(case):
    """p(sequence), indexed by its tokens: a source of those that there are, then its target."""
    vocab, count, noise = case.task.vocabulary.size, case.task.source_length, case.task.noise
    sources, law = sources_of(case), np.zeros((vocab,) * (2 * count))
    for source in sources:
        true = target_of(case, source)
        for target in itertools.product(range(vocab), repeat=count):
            chance = 1 / len(sources)
            for token, right in zip(target, true, strict=True):
                chance *= 1 - noise if token == right else noise / (vocab - 1)
            law[source + target] += chance
    return law
