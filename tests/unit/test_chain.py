"""Chains in the long run, against exact rational arithmetic, however slowly they mix."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from attnlab.generators import Custom, DotMod, HiddenMarkov, Markov, NDays, Recall
from attnlab.generators.chain import long_run_distribution
from attnlab.optimum import frequencies, next_token
from tests.unit.documents import guide_classes
from tests.unit.optimum_oracles import NEXT

TINY = Fraction(1, 10**9)
CHAINS = {
    "slow switching": ((1 - TINY, TINY), (3 * TINY, 1 - 3 * TINY)),
    "a leak to an absorbing state": ((1 - TINY, TINY), (0, 1)),
    "a leak to either of two": ((1 - 3 * TINY, TINY, 2 * TINY), (0, 1, 0), (0, 0, 1)),
    "leaks that differ by far": ((1 - TINY, TINY - TINY**3, TINY**3), (0, 1, 0), (0, 0, 1)),
    "a state that is hardly ever left": (
        (Fraction(1, 2), Fraction(1, 2), 0),
        (Fraction(1, 2), Fraction(1, 2) - TINY, TINY),
        (TINY**2, 0, 1 - TINY**2),
    ),
    "moves of next to no probability": ((1 - TINY**30, TINY**30), (TINY**31, 1 - TINY**31)),
    "a cycle": ((0, 1, 0), (0, 0, 1), (1, 0, 0)),
    "a cycle with a way in": (
        (0, 1, 0, 0),
        (1, 0, 0, 0),
        (TINY, 0, 1 - 2 * TINY, TINY),
        (0, 0, Fraction(1, 2), Fraction(1, 2)),
    ),
    "two islands, switching at different speeds": (
        (1 - TINY, TINY, 0, 0, 0),
        (5 * TINY, 1 - 5 * TINY, 0, 0, 0),
        (0, 0, Fraction(1, 4), Fraction(3, 4), 0),
        (0, 0, Fraction(1, 3), Fraction(2, 3), 0),
        (TINY, 0, TINY**2, 0, 1 - TINY - TINY**2),
    ),
    "no move at all": ((1, 0), (0, 1)),
}  # fmt: skip


def solved(matrix, right):
    """The solution of matrix · x = right by Gauss and Jordan, in whole fractions."""
    rows = [
        [Fraction(entry) for entry in (*row, value)]
        for row, value in zip(matrix, right, strict=True)
    ]
    for at in range(len(rows)):
        pivot = next(i for i in range(at, len(rows)) if rows[i][at])
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [entry / rows[at][at] for entry in rows[at]]
        for i, row in enumerate(rows):
            if i != at and row[at]:
                rows[i] = [a - row[at] * b for a, b in zip(row, rows[at], strict=True)]
    return [row[-1] for row in rows]


def exact_distribution(chain):
    """From equal states: what each closed class absorbs, times its own stationary law."""
    states = range(len(chain))
    ways = [{i} for i in states]
    for _ in states:
        ways = [way | {j for i in way for j in states if chain[i][j]} for way in ways]
    classes = {frozenset(ways[i]) for i in states if all(ways[j] == ways[i] for j in ways[i])}
    passing = [i for i in states if not any(i in members for members in classes)]
    law = [Fraction(0)] * len(chain)
    for members in map(sorted, classes):
        stay = [[(i == j) - chain[i][j] for j in passing] for i in passing]
        absorbed = solved(stay, [sum(chain[i][j] for j in members) for i in passing])
        mass = (len(members) + sum(absorbed)) / Fraction(len(chain))
        balance = [[chain[i][j] - (i == j) for i in members] for j in members]
        balance[-1] = [1] * len(members)
        within = solved(balance, [0] * (len(members) - 1) + [1])
        for state, share in zip(members, within, strict=True):
            law[state] = mass * share
    return law


def as_floats(chain):
    return tuple(tuple(float(entry) for entry in row) for row in chain)


@pytest.mark.parametrize("name", CHAINS)
def test_every_probability_has_its_relative_precision(name):
    chain = CHAINS[name]
    found = long_run_distribution(np.array(as_floats(chain)), np.full(len(chain), 1 / len(chain)))
    # The float entries are themselves rounded to 1e-16 of their size.
    np.testing.assert_allclose(
        found, [float(share) for share in exact_distribution(chain)], rtol=1e-12
    )


def test_the_start_decides_between_closed_classes():
    chain = np.array(as_floats(CHAINS["a leak to either of two"]))
    np.testing.assert_allclose(long_run_distribution(chain, np.array([0.3, 0.7, 0])), [0, 0.8, 0.2])


@pytest.mark.parametrize("name", ["slow switching", "a leak to an absorbing state"])
@pytest.mark.parametrize("order", [1, 2])
def test_custom_tables_that_mix_slowly(name, order):
    chain, windows = CHAINS[name], list(itertools.product(range(2), repeat=order))
    table = [chain[window[-1]] for window in windows]
    moves = [
        [row[after[-1]] if before[1:] == after[:-1] else 0 for after in windows]
        for before, row in zip(windows, table, strict=True)
    ]
    law = np.array(exact_distribution(moves)).reshape(2, -1).sum(axis=1).astype(float)
    generator = Custom(symbols="a b", order=order, table=as_floats(table))
    np.testing.assert_allclose(next_token(generator, ()), law, atol=1e-7)


def test_the_days_of_a_chain_that_hardly_moves():
    """A drift of 3e-7 a day, which adds up to 1e-5 over all days."""
    rare = 3e-7
    transition = ((1 - rare, rare, 0.0), (0.0, 1 - rare, rare), (3 * rare, 0.0, 1 - 3 * rare))
    found = frequencies(Markov(transition=transition), 64)
    law = np.array([0.3, 0.4, 0.3])
    for day in found.days:
        np.testing.assert_allclose(day, law, atol=2e-7)
        law = law @ np.array(transition)
    assert found.exact


@pytest.mark.parametrize(
    ("generator", "expected"),
    [
        (NDays(n=3), True),
        (DotMod(n=3), True),
        (Custom(), True),
        (Recall(), False),
        (Markov(), False),
        (Markov(initial=(7 / 18, 6 / 18, 5 / 18)), True),
        # As people type it.
        (Markov(initial=(0.388889, 0.333333, 0.277778)), True),
        (Markov(transition=as_floats(np.eye(3))), True),
        # Each day is nearly as the one before, yet in the long run all are alike.
        (Markov(transition=as_floats((1 - 1e-8) * np.eye(3) + 1e-8 * np.array(NEXT))), False),
        (HiddenMarkov(), False),
        (HiddenMarkov(initial=(2 / 3, 1 / 3)), True),
        # The hidden states settle, and nothing that is shown tells.
        (HiddenMarkov(initial=(1.0, 0.0), showing=((0.5, 0.3, 0.2),) * 2), True),
        # Each day by itself shows the same, but two days in a row do not.
        (
            HiddenMarkov(
                initial=(1.0, 0.0, 0.0),
                moving=((0.0, 0.5, 0.5), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
                showing=((0.5, 0.5, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
            ),
            False,
        ),
        (guide_classes()["Turns"](), None),
    ],
)
def test_whether_a_process_is_stationary(generator, expected):
    assert generator.is_stationary() is expected
