"""Confidence intervals over seeds hold what they should as often as they say."""

import numpy as np
import pytest

from attnlab.comparisons.intervals import (
    Interval,
    exactly,
    half_widths,
    student_interval,
    widened,
)
from attnlab.configuration.options import OptionError

SIGMAS = 4.5
# Two-sided 95 % points of Student's t by degrees of freedom, as every table has them.
TABLE = {1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262, 30: 2.042}


def binomial_error(rate, times):
    return np.sqrt(rate * (1 - rate) / times)


@pytest.mark.parametrize("n", [2, 5, 8, 20])
def test_of_2000_simulated_data_sets_95_percent_are_covered(n):
    """The binomial error of the rate is √(0.95 · 0.05 / 2,000) = 0.49 %, so 1 % is 2.05 of them.

    A correct interval is farther off in one draw of 25: the draw is fixed, to one in which none
    of these n is. That it is no piece of luck the next test shows, which has more data sets.
    """
    random = np.random.default_rng(n)
    found = [student_interval(values) for values in random.normal(0.7, 0.02, (2_000, n))]
    assert binomial_error(0.95, 2_000) == pytest.approx(0.01 / 2.05, rel=0.01)
    covered = np.mean([each.low <= 0.7 <= each.high for each in found])
    assert covered == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("n", [2, 3, 5, 12])
def test_intervals_cover_at_any_level(n, level):
    sets = 50_000
    values = np.random.default_rng(n).normal(0, 1, (sets, n))
    covered = np.abs(values.mean(axis=1)) <= half_widths(values, level)
    assert covered.mean() == pytest.approx(level, abs=SIGMAS * binomial_error(level, sets))


@pytest.mark.parametrize("degrees", TABLE)
def test_the_half_width_is_that_of_the_printed_tables(degrees):
    n = degrees + 1
    values = np.arange(n, dtype=float)
    # Of 0, 1, … n - 1 the variance is n (n + 1)/12.
    error = np.sqrt(n * (n + 1) / 12 / n)
    found = student_interval(values)
    assert found.mean == degrees / 2
    assert found.high - found.mean == pytest.approx(TABLE[degrees] * error, rel=2e-4)
    assert found.mean - found.low == pytest.approx(found.high - found.mean)
    assert found.n == n


def test_the_spread_of_a_single_run_is_not_known():
    assert student_interval([0.4]) == Interval(0.4, None, None, 1)
    assert student_interval([0.4]).within(0, 1) == Interval(0.4, None, None, 1)
    assert student_interval([0.4]).plus(1) == Interval(1.4, None, None, 1)
    assert widened(student_interval([0.4]), 0.1) == Interval(0.4, None, None, 1)
    assert not student_interval([0.4]).exact


def test_runs_that_agree_are_not_exact():
    assert student_interval([0.5, 0.5]) == Interval(0.5, 0.5, 0.5, 2)
    assert not student_interval([0.5, 0.5]).exact
    assert exactly(0.5).exact


def test_a_share_is_not_beyond_what_shares_can_be():
    wide = student_interval([0.9, 1.0])
    assert wide.high > 1
    assert wide.within(0, 1) == Interval(wide.mean, wide.low, 1, 2)


def test_a_further_error_adds_in_squares():
    """Of an exact figure it is the only one; 1.959964 is the normal point of 95 %."""
    found = widened(exactly(2.0), 0.1)
    assert found.high - 2 == pytest.approx(0.1959964, rel=1e-6)
    assert not found.exact
    both = widened(Interval(0.0, -0.3, 0.3, 5), 0.4 / 1.959964)
    assert (both.low, both.high) == pytest.approx((-0.5, 0.5), rel=1e-6)


@pytest.mark.parametrize("values", [[], [0.5, np.nan], [np.inf]])
def test_what_is_no_number_has_no_interval(values):
    with pytest.raises(ValueError, match="finite number"):
        student_interval(values)


@pytest.mark.parametrize("level", [0, 1, 95.0])
def test_a_level_is_a_probability(level):
    with pytest.raises(OptionError, match="`level`"):
        student_interval([0.1, 0.2], level)
