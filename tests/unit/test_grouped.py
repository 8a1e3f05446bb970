"""Predictions fitted to a sample: their estimates and errors over many samples."""

import importlib

import numpy as np
import pytest

from attnlab.generators import Custom
from attnlab.optimum import Best, ladder
from attnlab.optimum.best import best_from_sampled_groups
from tests.unit.sampled_figures import sampled

SIZE, SAMPLES = 3_000, 100
# What is told names one of 27 groups, some rarer than others; the token is all but decided by what
# is not told. How far apart the tokens of a group are decides how easily a sample misleads.
APART = {"equally likely": 1e9, "almost equally": 200.0, "clearly apart": 2.0}


def law(concentration):
    """p(group), p(token | group) before the noise, and p(token | group)."""
    rng = np.random.default_rng(5)
    groups = rng.dirichlet(np.full(27, 2.0))
    decided = rng.dirichlet(np.full(3, concentration), size=27)
    return groups, decided, 0.94 * decided + 0.02


def scores(concentration):
    """(estimate - truth) / error of loss and accuracy, a row a sample."""
    groups, decided, told = law(concentration)
    loss = -(groups[:, None] * told * np.log(told)).sum()
    accuracy = groups @ told.max(axis=1)
    rng, rows = np.random.default_rng(6), []
    for _ in range(SAMPLES):
        group = rng.choice(27, size=SIZE, p=groups)
        token = (rng.random((SIZE, 1)) > decided[group].cumsum(axis=1)).sum(axis=1)
        best = best_from_sampled_groups(group, 0.94 * np.eye(3)[np.minimum(token, 2)] + 0.02)
        rows.append([(best.nll - loss) / best.nll_stderr])
        rows[-1].append((best.accuracy - accuracy) / best.accuracy_stderr)
    return np.array(rows)


@pytest.mark.parametrize("name", APART)
def test_estimates_are_off_by_their_errors_and_no_more(name):
    loss, accuracy = scores(APART[name]).T
    # Over 100 samples a mean is known to 0.1 of their standard deviation.
    assert abs(loss.mean()) < 0.4
    assert loss.std() < 1.3
    # The error of an accuracy covers what nobody can tell from a sample: which token is likeliest.
    assert np.sqrt((accuracy**2).mean()) < 1.3


def test_orders_that_a_sample_cannot_fill_are_left_out(monkeypatch):
    # Beside the point, and slow to fit.
    module = importlib.import_module("attnlab.optimum.baselines")
    monkeypatch.setattr(module, "best_linear", lambda *_: Best(nll=1.0, accuracy=0.5))
    table = (np.eye(6) * 0.4 + 0.1).tolist()
    generator = Custom(symbols="a b c d e f", table=tuple(map(tuple, table)))
    rungs = sampled(lambda: ladder(generator, 4))
    # 6^4 contexts would have 15 of 20,000 sequences each.
    orders = [rung.name for rung in rungs if rung.name.startswith("order")]
    assert orders == ["order-1", "order-2", "order-3"]
