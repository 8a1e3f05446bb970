"""How often tokens come, against float64 enumeration and against samples."""

import numpy as np
import pytest

from attnlab.generators import Custom, HiddenMarkov, Markov
from attnlab.optimum import Frequencies, agreement, count_frequencies, counted, frequencies
from attnlab.ui.generators.sample_panel import days_in_words
from tests.unit.documents import guide_classes
from tests.unit.optimum_oracles import NEXT, START
from tests.unit.process_cases import CASES

LENGTH = 4
# The log-probabilities are float32.
_ROUNDING = 2e-6
# One in two million figures is further off than this many standard errors.
_SIGMAS = 5


def _distribution_of_day(joint, day):
    return joint.sum(axis=tuple(other for other in range(joint.ndim) if other != day))


def _distribution_of_pair(joint, first, second):
    return joint.sum(axis=tuple(d for d in range(joint.ndim) if d not in (first, second)))


# The table of `recall` decides the day after the visible ones.
_AT_LENGTH = {
    name: case for name, case in CASES.items() if case.generator.at_length(LENGTH) == case.generator
}


@pytest.mark.parametrize("case", _AT_LENGTH.values(), ids=_AT_LENGTH)
def test_marginals_and_pairs(case):
    known = frequencies(case.generator, LENGTH)
    joint = case.joint(LENGTH + 1)
    laws = [_distribution_of_day(joint, day) for day in range(LENGTH + 1)]
    assert (np.abs(known.days - laws) <= _ROUNDING + _SIGMAS * known.days_stderr).all()
    pair = _distribution_of_pair(joint, LENGTH - 2, LENGTH - 1)
    total = pair.sum(axis=1)
    for token in range(case.generator.vocabulary.size):
        if total[token] > 1e-9:
            off = np.abs(known.following[token] - pair[token] / total[token])
            assert (off <= 1e-5 + _SIGMAS * known.following_stderr[token]).all()
        else:
            assert np.isnan(known.following[token]).all()
    assert known.exact == (case.generator.next_laws() is None)


@pytest.mark.parametrize("name", ["markov", "hmm", "ndays-2", "dotmod-2", "custom-pairs"])
def test_agreement(name):
    case = CASES[name]
    joint = case.joint(LENGTH)
    found = agreement(case.generator, LENGTH)
    for lag in range(1, LENGTH):
        pairs = [_distribution_of_pair(joint, day, day + lag) for day in range(LENGTH - lag)]
        same = np.mean([np.trace(pair) for pair in pairs])
        chance = np.mean([pair.sum(axis=1) @ pair.sum(axis=0) for pair in pairs])
        assert found.values[lag - 1] == pytest.approx((same - chance) / (1 - chance), abs=1e-5)
    assert found.exact
    assert not found.stderr.any()


def test_sampled_agreement_of_a_long_sequence():
    length, transition, law = 14, np.array(NEXT), np.array(START)
    laws = [law]
    for _ in range(length - 1):
        laws.append(laws[-1] @ transition)
    found = agreement(Markov(), length)
    assert not found.exact
    for lag in range(1, length):
        step = np.linalg.matrix_power(transition, lag)
        days = range(length - lag)
        same = np.mean([laws[day] @ np.diag(step) for day in days])
        chance = np.mean([laws[day] @ laws[day + lag] for day in days])
        gap = found.values[lag - 1] - (same - chance) / (1 - chance)
        assert abs(gap) < _SIGMAS * found.stderr[lag - 1]


def test_nothing_agrees_above_a_chance_that_is_certainty():
    always = Custom(symbols="a b", table=((1.0, 0.0), (1.0, 0.0)))
    assert np.isnan(agreement(always, LENGTH).values).all()


@pytest.mark.parametrize("name", ["markov", "hmm", "ndays-4", "dotmod-4", "custom"])
def test_a_sample_is_like_the_process(name):
    generator = CASES[name].generator
    known, shown = frequencies(generator, LENGTH), counted(generator, LENGTH, seed=3)
    found = shown.frequencies
    assert shown.size == 10_000
    assert shown.sequences.shape == (8, LENGTH + 1)
    assert (np.abs(found.days - known.days) <= _SIGMAS * found.days_stderr).all()
    gap = np.abs(found.following - known.following)
    assert (gap <= _SIGMAS * found.following_stderr).all()


def test_another_seed_draws_another_sample():
    first, again, other = (counted(Markov(), LENGTH, seed).sequences for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_counting_by_hand():
    days = np.array([[0, 1, 1], [0, 0, 1], [0, 1, 0], [0, 1, 0]])
    found = count_frequencies(days, 2)
    np.testing.assert_allclose(found.days, [[1, 0], [0.25, 0.75], [0.5, 0.5]])
    np.testing.assert_allclose(found.days_stderr[1], np.sqrt(0.25 * 0.75 / 4))
    np.testing.assert_allclose(found.following[0], [0.25, 0.75])
    assert np.isnan(found.following[1]).all()
    assert not found.exact


SHARES = np.array([[0.3, 0.4, 0.3], [0.36, 0.34, 0.3]])


def of_days(*, exact):
    error = np.zeros((2, 3)) if exact else np.full((2, 3), 0.004)
    return Frequencies(SHARES, error, np.eye(3), np.zeros((3, 3)), exact)


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "sampled"])
def test_it_changes_only_where_the_process_is_not_stationary(exact):
    settled, settling = HiddenMarkov(initial=(2 / 3, 1 / 3)), HiddenMarkov()
    assert "is **stationary**" in days_in_words(settled, of_days(exact=exact))
    assert "is **not stationary**: day 1" in days_in_words(settling, of_days(exact=exact))
    unknown = days_in_words(guide_classes()["Turns"](), of_days(exact=exact))
    assert "stationary" not in unknown
    assert "day 1" in unknown


def test_shares_of_a_sample_have_their_errors():
    assert "0.300 ± 0.004" in days_in_words(Markov(), of_days(exact=False))
    assert "±" not in days_in_words(Markov(), of_days(exact=True))
