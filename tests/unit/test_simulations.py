"""Floors and ceilings at full size, against streams that were drawn independently."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.generators import DotMod, Markov, NDays, Recall, log_predictives
from attnlab.optimum import optimum
from tests.unit import optimum_oracles as oracles
from tests.unit import simulations

SIGMAS = 4.5

CASES = {
    "markov": (Markov(), 10, functools.partial(simulations.markov_days, 20_000, days=11)),
    "recall": (
        Recall(),
        10,
        functools.partial(
            simulations.recall_days, 20_000, (1, 4, 8), Recall().table.reshape((3,) * 4), 11
        ),
    ),
    "ndays": (NDays(n=10), 10, functools.partial(simulations.ndays_days, 10_000, 10, 11)),
    "ndays-hidden": (NDays(n=12), 8, functools.partial(simulations.ndays_days, 10_000, 12, 9)),
    "dotmod": (
        DotMod(n=10),
        10,
        functools.partial(simulations.dotmod_days, 4_000, 10, 0.04, 11),
    ),
}

every_case = pytest.mark.parametrize("name", CASES)


@functools.cache
def losses_and_hits(name):
    """-log p of every drawn day by the exact prediction, and whether its likeliest token came."""
    generator, length, draw = CASES[name]
    days = draw(random=np.random.default_rng(11))
    generator = generator.at_length(length)
    log_probs = jax.vmap(lambda row: log_predictives(generator, row))(jnp.asarray(days))
    log_probs = np.asarray(log_probs, dtype=np.float64)
    losses = -np.take_along_axis(log_probs, days[:, :, None], axis=2)[:, :, 0]
    return losses, log_probs.argmax(axis=2) == days


def assert_mean(values, expected):
    """Within 4.5 standard errors, each day; a day that is certain must be so in every draw."""
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    assert (np.abs(values.mean(axis=0) - expected) <= SIGMAS * error + 1e-5).all()


@every_case
def test_the_floor_of_every_day_is_what_exact_prediction_loses(name):
    generator, length, _ = CASES[name]
    expected = [best.nll for best in optimum(generator, length).by_position]
    assert_mean(losses_and_hits(name)[0], expected)


@every_case
def test_the_ceiling_of_every_day_is_what_exact_prediction_hits(name):
    generator, length, _ = CASES[name]
    expected = [best.accuracy for best in optimum(generator, length).by_position]
    assert_mean(losses_and_hits(name)[1].astype(float), expected)


def test_the_markov_floor_at_full_length():
    law = np.array(oracles.START) @ np.linalg.matrix_power(np.array(oracles.NEXT), 9)
    final = optimum(Markov(), 10).final
    surprise = [oracles.shannon(np.array(row)) for row in oracles.NEXT]
    assert final.nll == pytest.approx(law @ surprise, abs=1e-6)
    assert final.accuracy == pytest.approx(law @ np.max(oracles.NEXT, axis=1), abs=1e-6)


def test_the_recall_floor_at_full_length():
    start = np.array(oracles.START)
    triples = np.einsum("i,j,k->ijk", start, start, start).ravel()
    table = Recall().table
    final = optimum(Recall(), 10).final
    surprise = [oracles.shannon(row) for row in table]
    assert final.nll == pytest.approx(triples @ surprise, abs=1e-6)
    assert final.accuracy == pytest.approx(triples @ table.max(axis=1), abs=1e-6)


def test_with_every_deciding_day_visible_dotmod_leaves_only_the_noise():
    final = optimum(DotMod(n=10, noise=0.04), 10).final
    assert final.nll == pytest.approx(oracles.shannon(np.array([0.96, 0.02, 0.02])), abs=1e-6)
    assert final.accuracy == pytest.approx(0.96, abs=1e-6)
