"""The law of the token after a given sequence, and the probability of a sequence."""

import numpy as np
import pytest

from attnlab.generators import Custom, Markov, NDays
from attnlab.optimum import (
    next_token,
    sequence_log_prob,
)
from tests.unit.optimum_cases import CYCLE, NAMES, case

# Probabilities come from float32 logarithms, good to about 1e-7 each.
CLOSE = 2e-6

every_case = pytest.mark.parametrize("name", NAMES)


def some_pasts(visible, count=5):
    """A few sequences, some possible and, where there are such, some not."""
    draw = np.random.default_rng(0)
    found = []
    for kind in (np.argwhere(visible > 0), np.argwhere(visible == 0)):
        if len(kind):
            chosen = kind[draw.choice(len(kind), size=min(count, len(kind)), replace=False)]
            found.extend(tuple(int(day) for day in days) for days in chosen)
    return found


@every_case
def test_against_enumeration(name):
    generator, _, joint = case(name)
    visible = joint.sum(axis=-1)
    for days in some_pasts(visible):
        if visible[days] > 0:
            expected = joint[days] / visible[days]
            np.testing.assert_allclose(next_token(generator, days), expected, atol=CLOSE)
            # A float32 logarithm a day.
            assert sequence_log_prob(generator, days) == pytest.approx(
                np.log(visible[days]), abs=1e-5
            )
        else:
            assert sequence_log_prob(generator, days) == -np.inf
            with pytest.raises(ValueError, match="`days` cannot happen: day "):
                next_token(generator, days)


@every_case
def test_probabilities_of_all_short_sequences_sum_to_one(name):
    generator, _, joint = case(name)
    vocab = joint.shape[-1]
    total = sum(np.exp(sequence_log_prob(generator, days)) for days in np.ndindex((vocab,) * 2))
    assert total == pytest.approx(1, abs=CLOSE)


def test_the_refusal_names_the_first_day_that_cannot_be():
    cycle = Custom(symbols="🌱 🌻 🍂", table=CYCLE)
    with pytest.raises(ValueError, match="day 3 is never '🌱' after the days before it") as refusal:
        next_token(cycle, (0, 1, 0, 0))
    assert "Change day 3 or an earlier one" in str(refusal.value)


def test_an_impossible_first_day_is_named_too():
    with pytest.raises(ValueError, match="day 1 is never '☀️'"):
        next_token(Markov(initial=(0.5, 0.5, 0.0)), (2, 0))


def test_before_any_day_it_is_the_distribution_of_day_1():
    np.testing.assert_allclose(next_token(Markov(), ()), (0.3, 0.4, 0.3), atol=1e-7)


def test_no_days_are_certain():
    assert sequence_log_prob(Markov(), ()) == 0


def test_only_the_counts_of_the_window_matter():
    long = (1, 2, 2, 0, 1, 1)
    np.testing.assert_allclose(next_token(NDays(n=3), long), (2 / 6, 1 / 6, 3 / 6), atol=1e-7)
