"""Holm's correction for many tests at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.comparisons.intervals import adjusted_p_values

SIGMAS = 4.5
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def test_by_hand():
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
