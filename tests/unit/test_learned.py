"""How much of what can be learned a run has learned."""

import itertools

import numpy as np
import pytest

from attnlab.inspection import likelihood_ratio_test, transitions
from attnlab.optimum import Best
from attnlab.training.evaluation import Evaluation
from attnlab.training.shares import is_at_floor, learned_share
from tests.unit import optimum_oracles as oracles
from tests.unit.optimum_cases import case

UNIFORM = float(np.log(3))


def figures_of(nll, stderr=0.01):
    return Evaluation(nll=nll, nll_stderr=stderr, accuracy=0.5, accuracy_stderr=0.005)


@pytest.mark.parametrize("share", [-0.5, 0.0, 0.25, 1.0, 1.02])
def test_a_uniform_guess_is_nothing_and_the_floor_everything(share):
    floor = 0.4
    loss = UNIFORM - share * (UNIFORM - floor)
    found = learned_share(figures_of(loss), Best(floor, 0.8), 3)
    assert found.share == pytest.approx(share, abs=1e-12)


def test_a_process_without_anything_to_learn_has_no_share():
    assert learned_share(figures_of(1.2), Best(UNIFORM, 1 / 3), 3) is None
    assert learned_share(figures_of(1.2), Best(UNIFORM - 1e-6, 0.3334), 3) is None
    assert learned_share(figures_of(1.2), Best(UNIFORM - 1e-2, 0.35), 3) is not None


def test_the_error_spreads_as_the_share_does():
    draw = np.random.default_rng(0)
    losses, floors = draw.normal(0.7, 0.01, 200_000), draw.normal(0.4, 0.02, 200_000)
    spread = ((UNIFORM - losses) / (UNIFORM - floors)).std()
    floor = Best(0.4, 0.8, nll_stderr=0.02, accuracy_stderr=0.01)
    found = learned_share(figures_of(0.7), floor, 3)
    # To first order in the errors, and 200,000 draws.
    assert found.stderr == pytest.approx(spread, rel=0.02)


def test_with_an_exact_floor_the_error_is_of_the_test_alone():
    found = learned_share(figures_of(0.7, stderr=0.01), Best(0.4, 0.8), 3)
    assert found.stderr == pytest.approx(0.01 / (UNIFORM - 0.4))


def test_an_excess_takes_the_place_of_the_distance_to_the_floor():
    """By luck of its sequences the loss is below the floor; that of the truth was, too."""
    test = Evaluation(0.39, 0.01, 0.5, 0.005, excess=0.02, excess_stderr=0.001)
    found = learned_share(test, Best(0.4, 0.8), 3)
    assert found.share == pytest.approx(1 - 0.02 / (UNIFORM - 0.4))
    assert found.stderr == pytest.approx(0.001 / (UNIFORM - 0.4))


@pytest.mark.slow
@pytest.mark.parametrize("distance", [0.0, 0.01, 0.03, 0.1])
def test_the_floor_is_reached_where_the_likelihood_ratio_test_finds_no_difference(distance):
    """The p-value is of drawn tokens; here it is of a normal law, from two numbers of each test."""
    rng, size, agreed, reached = np.random.default_rng(5), 2_000, 0, 0
    for _ in range(60):
        true = rng.dirichlet(np.full(3, 5.0), size)
        model = true * np.exp(distance * rng.standard_normal(true.shape))
        model /= model.sum(axis=1, keepdims=True)
        final = (rng.random((size, 1)) > true.cumsum(axis=1)).sum(axis=1)
        rows = np.arange(size)
        excess = np.log(true[rows, final] / model[rows, final])
        error = excess.std(ddof=1) / np.sqrt(size)
        test = Evaluation(1.0, 0.01, 0.5, 0.01, float(excess.mean()), float(error))
        at_floor = is_at_floor(test, Best(0.9, 0.6), size)
        p = likelihood_ratio_test(true, model, final, draws=199).p_value
        reached += at_floor
        agreed += at_floor == (p > 0.05) or abs(p - 0.05) < 0.03
    assert agreed >= 59
    # KL is about d²/2 · (1 - Σp²): √(2 nKL) is 0.4, 1.1 and 3.7 standard deviations.
    assert {0.0: reached == 60, 0.01: reached > 45, 0.03: 20 < reached < 58, 0.1: reached < 12}[
        distance
    ]


SIZE, TESTS, DRAWS = 40, 400, 99


def drawn(rng, probs):
    """A final day of every row."""
    return (rng.random((len(probs), 1)) > probs[:, :-1].cumsum(axis=1)).sum(axis=1)


def pair(kind):
    """True distributions and a model's, of SIZE sequences."""
    rng = np.random.default_rng(3)
    true = rng.dirichlet(np.full(3, 2.0), size=SIZE)
    if kind == "a model close to the truth":
        return true, 0.9 * true + 0.1 * rng.dirichlet(np.ones(3), size=SIZE)
    if kind == "another truth":
        return true, rng.dirichlet(np.full(3, 2.0), size=SIZE)
    if kind == "a uniform guess":
        return true, np.full((SIZE, 3), 1 / 3)
    # Some tokens can never come, and the model does not know.
    true = np.where(true < 0.15, 0.0, true)
    true /= true.sum(axis=1, keepdims=True)
    return true, 0.98 * true + 0.02 / 3


@pytest.mark.parametrize(
    "kind",
    ["a model close to the truth", "another truth", "a uniform guess", "some tokens impossible"],
)
def test_of_days_that_the_model_makes_one_in_twenty_is_refused(kind):
    true, model = pair(kind)
    rng = np.random.default_rng(4)
    p = np.array(
        [likelihood_ratio_test(true, model, drawn(rng, model), DRAWS).p_value for _ in range(TESTS)]
    )
    # 4.5 standard deviations of the share among 400.
    slack = 4.5 * np.sqrt(0.05 * 0.95 / TESTS)
    assert np.mean(p <= 0.05) < 0.05 + slack
    if kind != "some tokens impossible":
        assert np.mean(p <= 0.05) > 0.05 - slack
        assert np.mean(p) == pytest.approx(0.5, abs=4.5 / np.sqrt(12 * TESTS))


def test_the_p_value_is_that_of_all_possible_days():
    rng = np.random.default_rng(5)
    true, model = (rng.dirichlet(np.ones(3), size=4) for _ in range(2))
    ratio = np.log(true / model)
    days = list(itertools.product(range(3), repeat=4))
    sums = np.array([sum(ratio[s, w] for s, w in enumerate(each)) for each in days])
    chances = np.array([np.prod([model[s, w] for s, w in enumerate(each)]) for each in days])
    for observed in (days[0], days[17], days[40]):
        exact = chances[sums >= sums[days.index(observed)] - 1e-12].sum()
        found = likelihood_ratio_test(true, model, np.array(observed))
        assert found.log_ratio == pytest.approx(sums[days.index(observed)])
        error = np.sqrt(exact * (1 - exact) / found.draws)
        assert found.p_value == pytest.approx(exact, abs=4.5 * error + 2 / found.draws)


def test_a_model_that_is_the_truth_leaves_nothing_to_test():
    true, _ = pair("another truth")
    found = likelihood_ratio_test(true, true, drawn(np.random.default_rng(6), true))
    assert (found.divergence, found.log_ratio) == ((0, 0), 0)
    assert found.p_value == 1


@pytest.mark.parametrize("name", ["dotmod-5", "dotmod-published-3"])
def test_a_model_with_the_right_transitions_and_nothing_else_is_found_out(name):
    joint = case(name).joint
    order_1 = oracles.last_days(joint, 2)
    order_1 = order_1 / order_1.sum(axis=-1, keepdims=True)
    visible = joint.sum(axis=-1)
    rng = np.random.default_rng(7)
    days = np.stack(
        np.unravel_index(rng.choice(visible.size, size=2_000, p=visible.ravel()), visible.shape), 1
    )
    true = joint[tuple(days.T)] / visible[tuple(days.T)][:, None]
    model = order_1[days[:, -1]]
    found = likelihood_ratio_test(true, model, drawn(rng, true))
    assert found.p_value == 1 / (found.draws + 1)
    gap = oracles.floor(oracles.last_days(joint, 2)) - oracles.floor(joint)
    assert found.divergence.value == pytest.approx(gap, abs=4.5 * found.divergence.stderr)
    # By the last day alone they are the same.
    means = transitions(days[:, -1], true, model)
    gap = np.abs(means.difference.mean)
    assert (gap <= 4.5 * means.difference.stderr + 1e-6).all()


def test_a_model_that_rules_out_what_happens_is_infinitely_far():
    true, model = np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[1.0, 0.0], [0.5, 0.5]])
    found = likelihood_ratio_test(true, model, np.array([1, 0]))
    assert found.divergence.value == found.log_ratio == np.inf
    assert found.p_value == 1 / (found.draws + 1)
    # What neither holds possible has no part in it.
    both = likelihood_ratio_test(np.eye(2), np.eye(2), np.array([0, 1]))
    assert (both.divergence.value, both.p_value) == (0, 1)


def test_transitions_averaged_by_hand():
    before = np.array([0, 0, 1])
    true = np.array([[0.5, 0.5, 0.0], [0.3, 0.7, 0.0], [0.0, 0.0, 1.0]])
    model = np.array([[0.6, 0.4, 0.0], [0.4, 0.6, 0.0], [0.0, 0.5, 0.5]])
    found = transitions(before, true, model)
    assert found.count.tolist() == [2, 1, 0]
    np.testing.assert_allclose(found.true.mean[:2], [[0.4, 0.6, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(found.true.stderr[0], [0.1, 0.1, 0.0])
    # The model is off by the same in both: of the difference no error is left.
    np.testing.assert_allclose(found.difference.mean[0], [0.1, -0.1, 0.0])
    np.testing.assert_allclose(found.difference.stderr[0], 0)
    assert np.isnan(found.true.stderr[1]).all()
    assert np.isnan(found.model.mean[2]).all()
