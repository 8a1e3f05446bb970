"""How much of what can be learned a run has learned."""

import numpy as np
import pytest

from attnlab.optimum import Best
from attnlab.training.evaluation import Evaluation
from attnlab.training.learned_share import learned_share

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
