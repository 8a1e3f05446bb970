"""How much the next day depends on each day: against brute force from the definitions."""

import dataclasses

import numpy as np
import pytest

from attnlab.generators import Custom, DotMod, Markov, Recall
from attnlab.optimum import dependence, informative_positions, token_marginals
from tests.unit import optimum_oracles as oracles
from tests.unit.optimum_cases import NAMES, case

# Probabilities come from float32 logarithms, good to about 1e-7 each.
CLOSE = 3e-6

every_case = pytest.mark.parametrize("name", NAMES)


def maps_of(name):
    generator, length, joint = case(name)
    return dependence(generator, length), joint


@every_case
def test_replacement_agrees_with_brute_force(name):
    found, joint = maps_of(name)
    np.testing.assert_allclose(found.replacement, oracles.replacement(joint), atol=CLOSE)


@every_case
def test_information_agrees_with_brute_force(name):
    found, joint = maps_of(name)
    np.testing.assert_allclose(found.information, oracles.information(joint), atol=CLOSE)


@every_case
def test_enumerated_maps_are_labelled_exact_and_stay_as_they_are(name):
    found, _ = maps_of(name)
    assert found.exact
    assert not found.replacement_stderr.any()
    assert not found.information_stderr.any()
    with pytest.raises(ValueError, match="read-only"):
        found.replacement[0, 0] = 1.0


@every_case
def test_marginals(name):
    generator, length, joint = case(name)
    visible = joint.sum(axis=-1)
    expected = [
        visible.sum(axis=tuple(set(range(length)) - {day})) for day in range(length)
    ]  # fmt: skip
    np.testing.assert_allclose(token_marginals(generator, length), expected, atol=CLOSE)


@pytest.mark.parametrize("name", ["markov", "custom", "ndays-1"])
def test_a_chain_depends_on_its_last_day_only(name):
    found, joint = maps_of(name)
    earlier = ~np.eye(joint.ndim - 1, dtype=bool)
    assert np.abs(found.replacement[earlier]).max() < 1e-6
    assert np.abs(found.information[earlier]).max() < 1e-6
    assert np.diag(found.replacement).min() > 0.1


def test_the_final_day_of_recall_depends_on_recalled_days_only():
    for name in ("recall", "recall-longer"):
        found, joint = maps_of(name)
        recalled = np.isin(np.arange(1, joint.ndim), (1, 2, 4))
        for values in (found.replacement[-1], found.information[-1]):
            assert values[recalled].min() > 0.01
            assert np.abs(values[~recalled]).max(initial=0) < 1e-6


def test_a_day_of_weight_zero_in_the_sum_does_not_matter():
    found = dependence(DotMod(n=7, noise=0.3), 7)
    # A weight of 3 is one of 0, modulo 3.
    weightless = np.array(oracles.BETA * 2)[:7] % 3 == 0
    for values in (found.replacement[-1], found.information[-1]):
        assert np.abs(values[weightless]).max() < 1e-6
        assert values[~weightless].min() > 0.01


def test_what_the_others_repeat_carries_no_information():
    # In a strict cycle every day follows from any other; alone, each would tell all.
    found, _ = maps_of("custom-cycle")
    assert np.abs(found.information[1:]).max() < 1e-6
    assert found.information[0, 0] == pytest.approx(np.log(3), abs=CLOSE)
    # No other day could stand in the place of one: it moves nothing.
    assert np.abs(found.replacement[1:]).max() < 1e-6
    assert found.replacement[0, 0] == pytest.approx(2 / 3, abs=CLOSE)


def test_one_visible_day_is_enough_for_a_map():
    found = dependence(Markov(), 1)
    joint = oracles.markov_joint(oracles.START, oracles.NEXT, 2)
    np.testing.assert_allclose(found.replacement, oracles.replacement(joint), atol=CLOSE)


def informative(true):
    return (np.flatnonzero(informative_positions(true)) + 1).tolist()


def test_informative_days_are_those_that_the_table_reads():
    true = dependence(Recall(days=(1, 3)), 5)
    assert informative(true) == [1, 3]
    faint = dataclasses.replace(true, replacement=true.replacement / 10)
    assert informative(faint) == [1, 3]
    nothing = dataclasses.replace(true, replacement=true.replacement / 1_000)
    assert informative(nothing) == []


@pytest.mark.slow
@pytest.mark.parametrize("length", [6, 9, 12])
def test_a_day_that_others_nearly_repeat_is_as_informative_as_it_is_drawn(length):
    """The sum reads the last six days with the weights 0, 1, 2, 3, 2, 1, modulo 3."""
    true = dependence(DotMod(n=6), length)
    assert informative(true) == [length - 4, length - 3, length - 1, length]
    moves = true.replacement[-1]
    assert moves[informative_positions(true)].min() > 0.1
    assert moves[~informative_positions(true)].max() < 1e-5


def test_where_nothing_depends_on_anything_no_day_is_informative():
    true = dependence(Custom(symbols="a b c", table=((0.2, 0.7, 0.1),) * 3), 6)
    # What rounding leaves is no dependence, however it compares with itself.
    assert true.replacement[-1].max() > 0 or true.information[-1].max() > 0
    assert informative(true) == []
