"""Generators in several settings, each with the float64 law of its first days."""

import functools
import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from attnlab.generators import (
    AbstractGenerator,
    Bijection,
    CausalTree,
    Custom,
    DotMod,
    Even,
    GoldenMean,
    HiddenChain,
    HiddenMarkov,
    InContextMarkov,
    Induction,
    LeakyRandomRandomXor,
    Markov,
    Maximum,
    Mess3,
    ModularAddition,
    NDays,
    Parentheses,
    ProductChain,
    RandomRandomXor,
    Recall,
    RecallPairs,
    SimpleNonunifilar,
    ZeroOneRandom,
)
from tests.unit import in_context_oracles as in_context
from tests.unit import optimum_oracles as oracles


class Case(NamedTuple):
    """A generator, and its joint law of the first `length` days from the oracle.

    `draws` is how many sequences are compared with the law.
    """

    generator: AbstractGenerator
    joint: Callable[[int], np.ndarray]
    draws: int = 60_000


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


def chain(generator, edges, start=None):
    return Case(generator, functools.cache(functools.partial(oracles.chain_joint, edges, start)))


def custom(order, table, symbols="a b c"):
    law = functools.partial(oracles.table_joint, table, order)
    return Case(Custom(symbols=symbols, order=order, table=table), functools.cache(law))


def drawn(generator, law, *settings):
    """A process whose rule is drawn for each sequence, which takes long."""
    return Case(generator, functools.cache(functools.partial(law, *settings)), draws=12_000)


PAIRS = tuple(
    (0.1 * (i + 1), 0.1 * (j + 2), 1 - 0.1 * (i + 1) - 0.1 * (j + 2))
    for i in range(3)
    for j in range(3)
)

# (state, token, next state), as the literature draws the processes.
XOR = {(0, 0, 1): 0.3, (0, 1, 2): 0.7, (1, 0, 4): 0.6, (1, 1, 3): 0.4, (2, 0, 3): 0.6,
       (2, 1, 4): 0.4, (3, 1, 0): 1.0, (4, 0, 0): 1.0}  # fmt: skip
LEAKY = {
    edge: 0.8 * XOR.get(edge, 0.0) + 0.02
    for edge in itertools.product(range(5), range(2), range(5))
}
MESS = {
    (i, k, j): (0.8 if i == j else 0.1) * (0.6 if j == k else 0.2)
    for i, k, j in itertools.product(range(3), repeat=3)
}
GOLDEN = {(0, 1, 0): 0.7, (0, 0, 1): 0.3, (1, 1, 0): 1.0}
NOISY_GOLDEN = {
    (0, 1, 0): 0.63, (0, 0, 0): 0.07, (0, 0, 1): 0.27, (0, 1, 1): 0.03,
    (1, 1, 0): 0.9, (1, 0, 0): 0.1,
}  # fmt: skip
EVEN = {(0, 0, 0): 0.6, (0, 1, 1): 0.4, (1, 1, 0): 1.0}
FAIR_GOLDEN, FAIR_EVEN = (dict.fromkeys(edges, 0.5) | {(1, 1, 0): 1.0} for edges in (GOLDEN, EVEN))
# Every pair of tokens is replaced by each of the four with probability 0.4 / 4.
NOISY_PAIRS = {
    (2 * i + k, pair, 2 * j + m): p * q * (0.1 + 0.6 * (pair == 2 * x + y))
    for ((i, x, j), p), ((k, y, m), q) in itertools.product(FAIR_GOLDEN.items(), FAIR_EVEN.items())
    for pair in range(4)
}

KNOWN = InContextMarkov(k=2, alpha=0.5, prior="known-tables", table_count=3)
STATIONARY = InContextMarkov(k=3, prior="known-tables", table_count=2, first_token="stationary")
OWN_TREE = CausalTree(k=3, alpha=0.7, tree="given", parents=(0, 1, 1))

CASES = {
    "in-context-markov": drawn(
        InContextMarkov(k=3, alpha=0.6), in_context.chain_with_prior, 3, 0.6, "dirichlet"
    ),
    "in-context-markov-doubly-stochastic": drawn(
        InContextMarkov(k=3, prior="doubly-stochastic"),
        in_context.chain_with_prior,
        3,
        1.0,
        "doubly-stochastic",
    ),
    "in-context-markov-rows-equal": drawn(
        InContextMarkov(k=3, prior="rows-equal"), in_context.chain_with_prior, 3, 1.0, "rows-equal"
    ),
    "in-context-markov-known-tables": drawn(
        KNOWN, in_context.chain_of_tables, KNOWN.known_tables, "uniform"
    ),
    "in-context-markov-stationary": drawn(
        STATIONARY, in_context.chain_of_tables, STATIONARY.known_tables, "stationary"
    ),
    "induction": drawn(Induction(letters=3).at_length(4), in_context.repeating, 3, (1, 2)),
    "induction-half": drawn(
        Induction(letters=3, repeats="half").at_length(4), in_context.repeating, 3, (2,)
    ),
    "induction-pairs": drawn(
        Induction(letters=3, repeats="pairs", repeat_probability=0.7).at_length(4),
        in_context.followed_again,
        3,
        0.7,
    ),
    "recall-pairs": drawn(
        RecallPairs(pairs=1, keys=2, values=2).at_length(4), in_context.recalled_law, 1, 2, 2
    ),
    "bijection": drawn(Bijection(inputs=3).at_length(4), in_context.paired, 3),
    "bijection-again": drawn(Bijection(inputs=2).at_length(4), in_context.paired, 2),
    "causal-tree": drawn(
        CausalTree(alpha=0.3).at_length(4), in_context.tree, 3, 0.3, (-1, 0, 1, -1, 3)
    ),
    "causal-tree-given": drawn(OWN_TREE, in_context.tree, 3, 0.7, (-1, 0, 0, -1, 3)),
    "hidden-chain": chain(
        HiddenChain(
            symbols="a b c",
            first_state="given",
            initial=(0.2, 0.8),
            table=((0.1, 0.2, 0.0, 0.3, 0.4, 0.0), (0.5, 0.0, 0.25, 0.25, 0.0, 0.0)),
        ),
        {
            (0, 0, 0): 0.1,
            (0, 0, 1): 0.2,
            (0, 1, 1): 0.3,
            (0, 2, 0): 0.4,
            (1, 0, 0): 0.5,
            (1, 1, 0): 0.25,
            (1, 1, 1): 0.25,
        },
        (0.2, 0.8),
    ),
    "golden-mean-noisy": chain(GoldenMean(p=0.3, noise=0.2), NOISY_GOLDEN),
    "product-noisy": chain(ProductChain(noise=0.4), NOISY_PAIRS),
    "mess3": chain(Mess3(x=0.1, a=0.6), MESS),
    "rrxor": chain(RandomRandomXor(p1=0.3, p2=0.6), XOR),
    "leaky-rrxor": chain(LeakyRandomRandomXor(p1=0.3, p2=0.6, epsilon=0.2), LEAKY),
    "z1r": chain(
        ZeroOneRandom(p=0.3), {(0, 0, 1): 1.0, (1, 1, 2): 1.0, (2, 0, 0): 0.7, (2, 1, 0): 0.3}
    ),
    "golden-mean": chain(GoldenMean(p=0.3), GOLDEN),
    "even": chain(Even(p=0.4), EVEN),
    "sns": chain(
        SimpleNonunifilar(p=0.3, q=0.6),
        {(0, 0, 0): 0.7, (0, 0, 1): 0.3, (1, 0, 1): 0.4, (1, 1, 0): 0.6},
    ),
    "parentheses": chain(
        Parentheses(depth=3, opening=0.4),
        {
            (0, 0, 1): 1.0,
            (1, 0, 2): 0.4,
            (1, 1, 0): 0.6,
            (2, 0, 3): 0.4,
            (2, 1, 1): 0.6,
            (3, 1, 2): 1.0,
        },
    ),
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
    "modular-addition": Case(ModularAddition(p=3), functools.partial(oracles.equations_joint, 3)),
    "maximum": Case(
        Maximum(values=3, labels=2).at_length(4), functools.partial(oracles.maximum_joint, 3, 2, 3)
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
