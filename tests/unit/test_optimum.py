"""Floor and ceiling against the enumeration of every sequence."""

import dataclasses
import itertools

import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import Markov, NDays, Recall
from attnlab.optimum import Best, entropy, optimum
from tests.unit import optimum_oracles as oracles
from tests.unit.optimum_cases import NAMES, case

# Probabilities come from float32 logarithms, good to about 1e-7 each.
CLOSE = 2e-6

every_case = pytest.mark.parametrize("name", NAMES)


def best_of(name):
    generator, length, joint = case(name)
    return optimum(generator, length), joint


@every_case
def test_floor_and_ceiling_of_every_day(name):
    found, joint = best_of(name)
    days = range(1, joint.ndim + 1)
    so_far = [oracles.first_days(joint, day) for day in days]
    np.testing.assert_allclose(
        [best.nll for best in found.by_position], [oracles.floor(law) for law in so_far], atol=CLOSE
    )
    np.testing.assert_allclose(
        [best.accuracy for best in found.by_position],
        [oracles.ceiling(law) for law in so_far],
        atol=CLOSE,
    )


@every_case
def test_floors_of_all_days_add_up_to_the_entropy_of_the_sequence(name):
    found, joint = best_of(name)
    total = sum(best.nll for best in found.by_position)
    assert total == pytest.approx(oracles.shannon(joint), abs=CLOSE * joint.ndim)


@every_case
def test_enumerated_figures_are_labelled_exact(name):
    found, _ = best_of(name)
    assert found.exact
    assert found.final is found.by_position[-1]
    assert {(best.nll_stderr, best.accuracy_stderr) for best in found.by_position} == {(0, 0)}


def test_floors_of_a_stationary_stream_never_rise():
    floors = [best.nll for best in optimum(NDays(n=4), 8).by_position]
    assert all(later <= earlier + 1e-6 for earlier, later in itertools.pairwise(floors))


def test_a_floor_may_fall_where_the_past_tells_nothing():
    """Independent days, of which the first is the hardest to tell."""
    generator = Markov(initial=(0.4, 0.3, 0.3), transition=((0.9, 0.05, 0.05),) * 3)
    found = [best.nll for best in optimum(generator, 3).by_position]
    assert found[0] > found[1] + 0.5
    np.testing.assert_allclose(found[1:], found[1], atol=1e-6)


def test_a_chain_that_forgets_slowly_has_its_own_floor_on_every_day():
    transition = np.array(((1 - 1e-5, 0.0, 1e-5), (0.0, 1.0, 0.0), (0.2, 0.3, 0.5)))
    surprise = np.array([oracles.shannon(row) for row in transition])
    laws = [np.linalg.matrix_power(transition, day)[0] for day in range(40)]
    generator = Markov(initial=(1.0, 0.0, 0.0), transition=tuple(map(tuple, transition.tolist())))
    floors = [best.nll for best in optimum(generator, 40).by_position[1:]]
    np.testing.assert_allclose(floors, np.array(laws) @ surprise, atol=CLOSE)


def test_the_same_process_keeps_its_table_at_every_length():
    # The final day of `recall` is decided by the same table, however far away it is.
    short, long = (optimum(Recall(days=(1, 2)), length).final for length in (2, 30))
    assert short.nll == pytest.approx(long.nll, abs=CLOSE)
    assert short.accuracy == pytest.approx(long.accuracy, abs=CLOSE)


def test_no_visible_days_of_recall_are_refused():
    with pytest.raises(OptionError, match="`length` is 0"):
        optimum(Recall(days=(1, 2, 4)), 0)


def test_exactness_follows_from_the_errors():
    best = Best(nll=1.0, accuracy=0.5)
    assert best.exact
    assert not dataclasses.replace(best, nll_stderr=0.01).exact
    assert not dataclasses.replace(best, accuracy_stderr=0.01).exact


def test_entropy_counts_the_impossible_as_nothing():
    probs = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])
    np.testing.assert_allclose(entropy(probs), np.log([1, 2, 2**1.5]), atol=1e-15)
    # A negative zero would be shown with its sign.
    assert not np.signbit(entropy(probs)).any()
