"""Sequences against the exact law of a process: its level, its power, and figures by hand."""

import dataclasses

import jax.random as jr
import numpy as np
import pytest
from scipy.stats import binom, chisquare

from attnlab.configuration.options import OptionError
from attnlab.generators import Cards, Copy, Even, GoldenMean, Markov, Mess3, sample
from attnlab.optimum.conformity import conformity
from tests.unit.optimum_oracles import NEXT, START

DRAWS = 400
# A token that hardly ever occurs, or occurs a few times.
RARE, FEW = (
    Markov(initial=row, transition=(row, (0.3, 0.7 - share, share), row))
    for share, row in ((0.0002, (0.5, 0.4998, 0.0002)), (0.002, (0.5, 0.498, 0.002)))
)
# Several processes, tasks whose last tokens are nearly certain, rare tokens, and a single sequence,
# in which the contexts overlap.
SETTINGS = {
    "cards": (Cards(), 200, 10),
    "copy": (Copy(), 100, Copy().own_length() + 1),
    "a rare token": (RARE, 300, 20),
    "a few tokens": (FEW, 300, 20),
    "mess3": (Mess3(), 100, 20),
    "even": (Even(), 100, 20),
    "golden-mean": (GoldenMean(), 100, 20),
    "markov": (Markov(), 100, 20),
    "one sequence": (Mess3(), 1, 2_000),
}


def sampled(process, size, length, seed=0):
    return np.asarray(sample(process, key=jr.key(seed), size=size, length=length)).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_the_law_is_rejected_as_often_as_the_level_says(name):
    process, size, length = SETTINGS[name]
    drawn = np.asarray(sample(process, key=jr.key(7), size=DRAWS * size, length=length))
    found = [conformity(process, part.tolist()) for part in drawn.reshape(DRAWS, size, length)]
    orders = min(len(each.tests) for each in found)
    p_values = np.array([[test.p_value for test in each.tests[:orders]] for each in found])
    # Holm's rule bounds the rate of all tests together, and each test has its own.
    rejected = sum(each.first_deviation(0.05) is not None for each in found)
    assert rejected <= binom.ppf(0.9999, DRAWS, 0.05)
    low, high = binom.ppf([0.0001, 0.9999], DRAWS, 0.05)
    for column in p_values.T:
        assert low <= (column < 0.05).sum() <= high


@pytest.mark.slow
def test_another_rate_is_found_and_named():
    other = dataclasses.replace(Mess3(), a=0.75)
    found = 0
    for seed in range(50):
        test = conformity(Mess3(), sampled(other, 200, 20, seed)).first_deviation()
        if test is not None:
            found += 1
            assert test.order == 1
            far = test.deviation
            # Every state emits its own symbol less often than in the law.
            assert (far.context[0] == far.token) == (far.observed < far.expected)
    assert found >= 48


def test_for_a_markov_chain_it_is_pearson_s_statistic_of_each_context():
    process = Markov(initial=START, transition=NEXT)
    tokens = np.array(sampled(process, 300, 8))
    (_, test, *_) = conformity(process, tokens.tolist()).tests
    statistic, degrees = 0.0, 0
    for before, row in enumerate(np.array(NEXT)):
        after = tokens[:, 1:][tokens[:, :-1] == before]
        counts = np.bincount(after, minlength=3)
        statistic += chisquare(counts, row * len(after)).statistic
        degrees += 2
    assert (test.order, test.degrees) == (1, degrees)
    assert test.statistic == pytest.approx(statistic, rel=1e-4)
    far = test.deviation
    share = tokens[:, 1:][tokens[:, :-1] == far.context[0]]
    assert far.observed == pytest.approx((share == far.token).mean())
    assert far.expected == pytest.approx(NEXT[far.context[0]][far.token], rel=1e-5)


def test_sequences_of_other_lengths_stand_beside_each_other():
    long, short = sampled(Mess3(), 40, 12), sampled(Mess3(), 40, 5, seed=1)
    both = conformity(Mess3(), [*long, *short])
    assert (both.sequences, both.tokens) == (80, 40 * 12 + 40 * 5)
    # The order of sequences means nothing.
    again = conformity(Mess3(), [*short, *long])
    assert again.tests[1].statistic == pytest.approx(both.tests[1].statistic)


def test_an_impossible_token_has_its_place():
    # After a 0 the golden mean goes on with 1.
    found = conformity(GoldenMean(), [[1, 0, 1], [1, 1, 0, 0, 1]])
    assert found.impossible == (1, 3)
    assert not found.tests


@pytest.mark.parametrize(
    ("sequences", "message"),
    [
        ([], "there are no tokens"),
        ([[0, 1, 2]], "too few tokens to test"),
        ([[0, 3]], "`samples` is 3: the tokens of mess3 are 0 to 2"),
        ([[-1, 0, 1]], "`samples` is -1"),
    ],
)
def test_what_cannot_be_tested_is_refused(sequences, message):
    with pytest.raises(OptionError, match=message):
        conformity(Mess3(), sequences)


def test_too_many_tokens_are_refused():
    with pytest.raises(OptionError, match="do not fit into memory"):
        conformity(Mess3(), [[0] * 10, *[[0]] * 2_000_000])
