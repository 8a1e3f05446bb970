"""How far any predictor is moved by each day: the measure of the true map, without the truth."""

import numpy as np
import pytest

from attnlab.generators import Custom
from attnlab.optimum import influence, token_marginals, true_influence
from tests.unit import optimum_oracles as oracles
from tests.unit.optimum_cases import case

SIGMAS = 4.5
# Probabilities come from float32 logarithms, good to about 1e-7 each.
CLOSE = 3e-6

every_full_case = pytest.mark.parametrize(
    "name", ["markov", "recall", "dotmod-5", "hmm", "custom-pairs"]
)
# No token stands beside itself: in the middle of a sequence one or two of three can.
NO_REPEATS = ((0.0, 0.8, 0.2), (0.5, 0.0, 0.5), (0.1, 0.9, 0.0))
every_forbidding_case = pytest.mark.parametrize(
    ("generator", "joint"),
    [
        (Custom(symbols="a b c", table=NO_REPEATS), oracles.table_joint(NO_REPEATS, 1, 5)),
        (case("custom-two-islands").generator, case("custom-two-islands").joint),
    ],
    ids=["no-repeats", "two-islands"],
)


def true_predictor(joint):
    """p(next | days) after every beginning of sequences; NaN after an impossible one."""
    so_far = [oracles.first_days(joint, day) for day in range(2, joint.ndim + 1)]
    with np.errstate(invalid="ignore"):
        laws = [law / law.sum(axis=-1, keepdims=True) for law in so_far]
    return lambda days: np.stack(
        [law[tuple(days[:, : seen + 1].T)] for seen, law in enumerate(laws)], axis=1
    )


def possible(joint):
    """Whether every beginning of sequences can happen."""
    so_far = [oracles.first_days(joint, day) > 0 for day in range(1, joint.ndim)]
    return lambda days: np.stack(
        [known[tuple(days[:, : seen + 1].T)] for seen, known in enumerate(so_far)], axis=1
    )


def draw(joint, size):
    """Visible days from their joint law."""
    visible = joint.sum(axis=-1)
    drawn = np.random.default_rng(1).choice(visible.size, size=size, p=visible.ravel())
    return np.stack(np.unravel_index(drawn, visible.shape), axis=1)


def last_only(predict):
    """A predictor of one query."""
    return lambda days: predict(days)[:, None]


@every_full_case
def test_on_the_true_predictor_it_is_the_true_replacement(name):
    generator, length, joint = case(name)
    laws = token_marginals(generator, length)
    mean, error = influence(true_predictor(joint), draw(joint, 4_000), laws)
    truth = oracles.replacement(joint)
    assert mean.shape == error.shape == (length, length)
    assert (np.abs(mean - truth) <= SIGMAS * error + CLOSE).all()
    assert error.max() < 0.01
    assert mean[-1].max() > 0.05


@every_full_case
def test_true_influence_is_that_of_the_true_predictor(name):
    generator, length, joint = case(name)
    sequences, laws = draw(joint, 60), token_marginals(generator, length)
    mean, _ = influence(true_predictor(joint), sequences, laws)
    np.testing.assert_allclose(true_influence(generator, sequences, laws), mean, atol=CLOSE)


@every_forbidding_case
def test_impossible_replacements_are_drawn_again_as_in_the_true_replacement(generator, joint):
    length = joint.ndim - 1
    sequences, laws = draw(joint, 1_000), token_marginals(generator, length)
    mean, error = influence(true_predictor(joint), sequences, laws, possible(joint))
    truth = oracles.replacement(joint)
    assert (np.abs(mean - truth) <= SIGMAS * error + CLOSE).all()
    last, _ = influence(
        last_only(lambda days: true_predictor(joint)(days)[:, -1]), sequences, laws, possible(joint)
    )
    np.testing.assert_allclose(last, mean[-1:], atol=1e-12)


@every_forbidding_case
def test_true_influence_draws_impossible_replacements_again(generator, joint):
    length = joint.ndim - 1
    sequences, laws = draw(joint, 60), token_marginals(generator, length)
    mean, _ = influence(true_predictor(joint), sequences, laws, possible(joint))
    np.testing.assert_allclose(true_influence(generator, sequences, laws), mean, atol=CLOSE)


def test_impossible_pasts_move_nothing():
    generator, length, joint = case("custom-cycle")
    found = true_influence(generator, draw(joint, 20), token_marginals(generator, length))
    # From day 2 on, no other day could stand in the place of one.
    assert found[0, 0] == pytest.approx(2 / 3, abs=CLOSE)
    np.testing.assert_allclose(found[1:], 0, atol=CLOSE)


def test_it_is_zero_on_days_that_a_predictor_ignores():
    laws = np.full((4, 3), 1 / 3)
    sequences = np.random.default_rng(2).integers(3, size=(50, 4))
    before = sequences.copy()
    mean, error = influence(last_only(lambda days: np.eye(3)[days[:, 1]]), sequences, laws)
    # A certain answer that follows day 2: a replacement is the same day in a third of the cases.
    np.testing.assert_allclose(mean, [[0, 2 / 3, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(error, 0, atol=1e-12)
    np.testing.assert_array_equal(sequences, before)


def test_replacements_are_weighed_by_the_distribution_of_the_day():
    laws = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    sequences = np.array([[0, 2], [1, 2], [0, 2], [2, 2]])
    mean, error = influence(last_only(lambda days: np.eye(3)[days[:, 0]]), sequences, laws)
    each = np.array([0.5, 0.5, 0.5, 1.0])
    np.testing.assert_allclose(mean, [[each.mean(), 0]], atol=1e-12)
    np.testing.assert_allclose(error, [[each.std(ddof=1) / 2, 0]], atol=1e-12)


def test_one_sequence_has_no_standard_error():
    laws = np.full((2, 3), 1 / 3)
    predict = last_only(lambda days: np.eye(3)[days[:, 0]])
    mean, error = influence(predict, np.array([[1, 2]]), laws)
    np.testing.assert_allclose(mean, [[2 / 3, 0]], atol=1e-12)
    assert np.isnan(error).all()
