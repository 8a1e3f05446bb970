"""Intervals and tests hold what they promise, or say that they may not: by simulation.

Laws are those of a figure of one seed: normal, near a ceiling, and with seeds that get stuck.
"""

import numpy as np
import pytest
from scipy import stats

from attnlab.comparisons.intervals import (
    adjusted_p_values,
    are_split,
    half_widths,
    student_interval,
    wilson_interval,
)
from attnlab.comparisons.paired import least_spread_of_shares, paired_test

SETS, SIGMAS = 9_000, 4.5
SEEDS = (2, 3, 5, 8)


def tallied(share, size, random):
    return random.binomial(size, share) / size


def stuck(rate):
    def draw(shape, random):
        return tallied(np.where(random.random(shape) < rate, 0.73, 0.96), 10_000, random)

    return draw, 0.96 - 0.23 * rate, 10_000


def near(share, size):
    return lambda shape, random: tallied(np.full(shape, share), size, random), share, size


def beta(mean):
    def draw(shape, random):
        return tallied(random.beta(20 * mean, 20 * (1 - mean), shape), 2_000, random)

    return draw, mean, 2_000


# Each as a draw, its mean, and the size of a test; least coverage of the interval by seeds.
LAWS = {
    "normal": (lambda shape, random: random.normal(0.7, 0.02, shape), 0.7, None),
    "0.96 of 10,000": near(0.96, 10_000),
    "0.999 of 10,000": near(0.999, 10_000),
    "0.99995 of 10,000": near(0.99995, 10_000),
    "0.999 of 2,000": near(0.999, 2_000),
    "beta 0.95": beta(0.95),
    "beta 0.995": beta(0.995),
    "stuck 1 in 4": stuck(1 / 4),
    "stuck 1 in 10": stuck(1 / 10),
    "stuck 1 in 20": stuck(1 / 20),
}
HOLDS = [name for name in LAWS if not name.startswith(("stuck", "beta"))]
# Of sets with these laws so many are covered, in percent, at 2, 3, 5 and 8 seeds.
COVERED = {
    "beta 0.95": (92, 89, 89, 90),
    "beta 0.995": (51, 52, 58, 65),
    "stuck 1 in 4": (38, 56, 76, 89),
    "stuck 1 in 10": (34, 27, 41, 57),
    "stuck 1 in 20": (56, 15, 23, 34),
}


def drawn(name, n, sets=SETS, seed=0):
    draw, mean, size = LAWS[name]
    values = draw((sets, n), np.random.default_rng([seed, n]))
    return values, mean, size


def errors_of(values, size):
    if size is None:
        return 0.0
    safe = np.clip(values, 0.5 / size, 1 - 0.5 / size)
    return np.sqrt((safe * (1 - safe) / size).mean(axis=-1))


def at_most(rate, sets=SETS):
    return rate + SIGMAS * np.sqrt(rate * (1 - rate) / sets)


@pytest.mark.parametrize("n", SEEDS)
@pytest.mark.parametrize("name", HOLDS)
def test_the_interval_holds_the_mean_in_95_percent_where_seeds_do_not_fail(name, n):
    values, mean, size = drawn(name, n)
    half = half_widths(values, error=errors_of(values, size))
    missed = np.mean(np.abs(values.mean(axis=1) - mean) > half)
    # An accuracy of few mistakes is not normal: 94 % of 95.
    assert missed <= at_most(0.06 if size else 0.05)
    assert half.min() > 0


@pytest.mark.parametrize("n", SEEDS)
@pytest.mark.parametrize("name", COVERED)
def test_where_the_interval_does_not_hold_it_says_so(name, n):
    """In every case that it misses; the rates are those of Student's interval, to 2 %."""
    values, mean, size = drawn(name, n)
    errors = errors_of(values, size)
    missed = np.abs(values.mean(axis=1) - mean) > half_widths(values, error=errors)
    assert 1 - missed.mean() == pytest.approx(COVERED[name][SEEDS.index(n)] / 100, abs=0.02)
    for each, error in list(zip(values[missed], errors[missed], strict=True))[:40]:
        found = student_interval(each, errors=[error] * n, share=True)
        assert not found.low <= mean <= found.high
        assert "few" in found.doubts
        assert "bound" in found.doubts or each.mean() < 0.95


@pytest.mark.parametrize("n", [5, 8])
@pytest.mark.parametrize("rate", [4, 10, 20])
def test_seeds_that_fail_are_seen_where_there_are_some(rate, n):
    values, _, size = drawn(f"stuck 1 in {rate}", n)
    failed = values < 0.85
    mixed = failed.any(axis=1) & ~failed.all(axis=1)
    split = are_split(values, errors_of(values, size))
    assert split[mixed].mean() > 0.99
    assert split[~mixed].mean() < 0.01
    assert are_split(drawn("normal", n)[0]).mean() < 0.02


def test_the_interval_of_wilson_is_that_of_scipy():
    for count, n in ((0, 4), (3, 5), (8, 8), (45, 50)):
        found = wilson_interval(count, n)
        other = stats.binomtest(count, n).proportion_ci(method="wilson")
        assert (found.low, found.high) == pytest.approx((other.low, other.high), abs=1e-9)


@pytest.mark.parametrize("n", SEEDS)
@pytest.mark.parametrize("name", LAWS)
def test_equal_settings_differ_beyond_the_noise_in_5_percent_at_most(name, n):
    """Two settings of one law; and any of nine, by Holm. 2 or 3 seeds of which some fail: 12 %."""
    first, _, size = drawn(name, n)
    second = drawn(name, n, seed=1)[0]
    differences = second - first
    least = 0.0
    if size:
        independent = np.hypot(errors_of(first, size), errors_of(second, size))
        least = np.minimum(least_spread_of_shares(differences, size), independent)
    _, p = paired_test(differences, least)
    allowed = 0.12 if name.startswith("stuck") and n < 5 else 0.05
    assert (p <= 0.05).mean() <= at_most(allowed)
    among_nine = adjusted_p_values(p.reshape(-1, 9)).min(axis=1)
    assert (among_nine <= 0.05).mean() <= at_most(allowed, SETS // 9)


@pytest.mark.parametrize("n", [3, 5, 8])
@pytest.mark.parametrize("settings", [6, 20])
def test_the_best_against_the_worst_is_corrected_for_all_pairs(settings, n):
    """Uncorrected it is beyond the noise in 17 to 69 % of cases where no setting is better."""
    sets = 4_000
    values = np.random.default_rng(n).normal(0, 1, (sets, settings, n))
    order = values.mean(axis=2).argsort(axis=1)
    best, worst = (values[np.arange(sets), order[:, end]] for end in (-1, 0))
    _, p = paired_test(best - worst)
    assert (p <= 0.05).mean() > 0.15
    pairs = settings * (settings - 1) // 2
    assert (p * pairs <= 0.05).mean() <= at_most(0.05, sets)
