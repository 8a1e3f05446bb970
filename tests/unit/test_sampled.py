"""Estimates from samples: labelled as such, and within their own standard errors."""

import functools
import importlib
from typing import Any, NamedTuple

import jax.random as jr
import numpy as np
import pytest

from attnlab.generators import Custom, Markov, sample
from attnlab.optimum import (
    Best,
    Optimum,
    baselines_of,
    counted,
    dependence,
    optimum,
    token_marginals,
)
from attnlab.optimum.best import best_from_sampled_groups
from attnlab.optimum.sequences import sampled_sequences
from attnlab.training.experiment import Experiment, prepare
from tests.unit import optimum_oracles as oracles
from tests.unit.optimum_cases import case
from tests.unit.sampled_figures import sampled

SIGMAS = 4.5
# Below this an error is the rounding of float32 logarithms and not of a sample.
CLOSE = 3e-6

every_case = pytest.mark.parametrize(
    "name", ["dotmod-5", pytest.param("hmm", marks=pytest.mark.slow)]
)


class Figures(NamedTuple):
    """All that is estimated of one process."""

    optimum: Optimum
    rungs: dict
    maps: Any
    laws: np.ndarray


@functools.cache
def figures(name):
    generator, length, _ = case(name)
    return sampled(
        lambda: Figures(
            optimum(generator, length),
            {rung.name: rung.best for rung in baselines_of(generator, length)},
            dependence(generator, length),
            token_marginals(generator, length),
        )
    )


def orders(name):
    """(estimate, joint law of the days that it knows and the final one) of each order."""
    found, joint = figures(name).rungs, case(name).joint
    names = ["unigram", *(rung for rung in found if rung.startswith("order"))]
    return [(found[rung], oracles.last_days(joint, i)) for i, rung in enumerate(names, start=1)]


def assert_within(estimates, errors, truths):
    distance = np.abs(np.subtract(estimates, truths))
    excess = distance - SIGMAS * np.asarray(errors) - CLOSE
    assert excess.max() <= 0, (
        f"{np.count_nonzero(excess > 0)} estimates off by up to {excess.max()}"
    )


def assert_best(found, laws):
    """Losses and accuracies are those of the joint laws of what is seen and the final token."""
    nll, accuracy, nll_stderr, accuracy_stderr = np.transpose(
        [(best.nll, best.accuracy, best.nll_stderr, best.accuracy_stderr) for best in found]
    )
    assert_within(nll, nll_stderr, [oracles.floor(law) for law in laws])
    assert_within(accuracy, accuracy_stderr, [oracles.ceiling(law) for law in laws])


@pytest.mark.slow
@every_case
def test_the_optimum_of_every_day(name):
    found = figures(name).optimum.by_position
    days = range(1, len(found) + 1)
    assert_best(found, [oracles.first_days(case(name).joint, day) for day in days])


@pytest.mark.slow
@every_case
def test_estimates_say_that_they_are_estimates(name):
    found = figures(name)
    assert not found.optimum.exact
    assert not found.optimum.final.exact
    assert not found.maps.exact
    for best in (found.optimum.final, found.rungs["order-4"], found.rungs["linear"]):
        assert not best.exact
        assert 0 < best.accuracy_stderr < 0.01


@pytest.mark.slow
@every_case
def test_losses_and_accuracies_of_the_orders(name):
    assert_best(*zip(*orders(name), strict=True))


@every_case
def test_the_best_linear_predictor(name):
    found = figures(name).rungs["linear"]
    assert 0 < found.nll_stderr < 0.01
    assert_within(found.nll, found.nll_stderr, oracles.least_linear_loss(case(name).joint))


@every_case
@pytest.mark.parametrize("measure", ["replacement", "information"])
def test_maps(name, measure):
    found, stderr = (getattr(figures(name).maps, measure + end) for end in ("", "_stderr"))
    assert 0 < stderr.max() < 0.02
    assert_within(found, stderr, getattr(oracles, measure)(case(name).joint))


@every_case
def test_marginals(name):
    visible = case(name).joint.sum(axis=-1)
    days = range(visible.ndim)
    truth = np.array([visible.sum(axis=tuple(set(days) - {day})) for day in days])
    found = figures(name).laws
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert_within(found, np.sqrt(truth * (1 - truth) / 20_000), truth)


@pytest.mark.slow
def test_maps_of_a_process_with_impossible_days_are_finite_and_right():
    generator, length, joint = case("custom-two-islands")
    found = sampled(lambda: dependence(generator, length))
    for values, errors in (
        (found.replacement, found.replacement_stderr),
        (found.information, found.information_stderr),
    ):
        assert np.isfinite(values).all()
        assert np.isfinite(errors).all()
        assert (np.triu(values, 1) == 0).all()
    # The law of a day is taken from a thousand sequences.
    slack = np.sqrt(0.25 / 1_000)
    truth = oracles.replacement(joint)
    assert_within(found.replacement, found.replacement_stderr + slack, truth)


def test_the_reference_shares_no_sequence_with_what_the_default_seed_draws():
    reference = sampled_sequences(Markov(), 11, 500)
    experiment = Experiment(generator=Markov(), length=10)
    drawn = {
        "a sample of the default seed": sample(Markov(), key=jr.key(experiment.seed), size=500,
                                               length=11),
        "the sample on screen": counted(Markov(), 10, experiment.seed).sequences,
        "a run": prepare(experiment).test[:500],
    }  # fmt: skip
    for name, sequences in drawn.items():
        same = (reference[: len(sequences)] == np.asarray(sequences)).all(axis=1)
        # Two independent sequences are the same with a probability of about 1e-4.
        assert same.mean() < 0.01, name


SIZE, SAMPLES = 3_000, 100
# The known part names one of 27 groups, some rarer than others; the rest of the sequence all but
# decides the token. The distance between the tokens of a group decides how a sample misleads.
APART = {"equally likely": 1e9, "almost equally": 200.0, "clearly apart": 2.0}


def law(concentration):
    """p(group), p(token | group) before the noise, and p(token | group)."""
    rng = np.random.default_rng(5)
    groups = rng.dirichlet(np.full(27, 2.0))
    decided = rng.dirichlet(np.full(3, concentration), size=27)
    return groups, decided, 0.94 * decided + 0.02


def scores(concentration):
    """(estimate - truth) / error of loss and accuracy, a row a sample."""
    groups, decided, predictive = law(concentration)
    loss = -(groups[:, None] * predictive * np.log(predictive)).sum()
    accuracy = groups @ predictive.max(axis=1)
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
    # The error of an accuracy covers what a sample cannot show: which token is likeliest.
    assert np.sqrt((accuracy**2).mean()) < 1.3


def test_orders_that_a_sample_cannot_fill_are_left_out(monkeypatch):
    # Beside the point, and slow to fit.
    module = importlib.import_module("attnlab.optimum.baselines")
    monkeypatch.setattr(module, "best_linear", lambda *_: Best(nll=1.0, accuracy=0.5))
    table = (np.eye(6) * 0.4 + 0.1).tolist()
    generator = Custom(symbols="a b c d e f", table=tuple(map(tuple, table)))
    rungs = sampled(lambda: baselines_of(generator, 4))
    # 6^4 contexts would have 15 of 20,000 sequences each.
    orders = [rung.name for rung in rungs if rung.name.startswith("order")]
    assert orders == ["order-1", "order-2", "order-3"]
