"""How much of what can be learned a run has learned."""

import numpy as np
import pytest

from attnlab.inspection.quality import likelihood_ratio_test
from attnlab.optimum import Best
from attnlab.training.evaluation import Evaluation
from attnlab.training.shares import is_at_floor, learned_share

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
