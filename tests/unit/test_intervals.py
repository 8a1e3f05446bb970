"""Intervals over seeds hold what they should as often as they say; Holm's correction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.comparisons.intervals import (
    Interval,
    adjusted_p_values,
    exactly,
    half_widths,
    student_interval,
    widened,
)
from attnlab.configuration.options import OptionError

SIGMAS = 4.5
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=8)
# Two-sided 95 % points of Student's t by degrees of freedom, as every table has them.
TABLE = {1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262, 30: 2.042}


def binomial_error(rate, times):
    return np.sqrt(rate * (1 - rate) / times)


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


def test_holm_by_hand():
    """Of 4: 0.005 × 4, 0.01 × 3; 0.03 × 2 is more than 0.04 × 1, which is raised to it."""
    found = adjusted_p_values(np.array([0.01, 0.04, 0.03, 0.005]))
    assert found == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjusted_p_values(np.array([0.4, 0.9])) == pytest.approx([0.8, 0.9])
    assert adjusted_p_values(np.array([0.6, 0.9])) == pytest.approx([1.0, 1.0])


@given(P_VALUES)
def test_no_p_value_falls_and_their_order_stays(p_values):
    raw = np.array(p_values)
    found = adjusted_p_values(raw)
    assert (found >= raw).all()
    assert (found <= 1).all()
    assert (np.diff(found[np.argsort(raw)]) >= 0).all()
    # Bonferroni's are never smaller.
    assert (found <= np.minimum(raw * raw.size, 1)).all()


@given(P_VALUES, st.randoms(use_true_random=False))
def test_the_order_of_the_tests_does_not_matter(p_values, random):
    order = random.sample(range(len(p_values)), len(p_values))
    raw = np.array(p_values)
    assert adjusted_p_values(raw[order]).tolist() == adjusted_p_values(raw)[order].tolist()


@pytest.mark.parametrize("real", [0, 3])
def test_any_false_finding_is_as_rare_as_the_level_says(real):
    """Of independent tests that are false alarms if anything, the rest being beyond all doubt.

    Then Holm's is at its level but for 1 - (1 - 0.05/m)^m, where Bonferroni's is far below it.
    """
    sets, false = 50_000, 5
    p_values = np.zeros((sets, real + false))
    p_values[:, real:] = np.random.default_rng(real).random((sets, false))
    found = adjusted_p_values(p_values)
    assert (found[:, :real] == 0).all()
    rate = (found[:, real:] <= 0.05).any(axis=1).mean()
    expected = 1 - (1 - 0.05 / false) ** false
    assert expected <= 0.05
    assert rate == pytest.approx(expected, abs=SIGMAS * np.sqrt(0.05 * 0.95 / sets))


def test_what_is_no_probability_is_refused():
    for bad in ([0.5, np.nan], [1.1], [-0.1]):
        with pytest.raises(ValueError, match="`p_values`"):
            adjusted_p_values(np.array(bad))
