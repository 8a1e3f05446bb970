"""Streams and floors at full size: windows of streams that have run forever, and closed forms."""

import functools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.generators import DotMod, Markov, NDays, Recall, log_predictives, sample
from attnlab.optimum import optimum
from tests.unit import optimum_oracles as oracles

STREAMS = {
    "ndays-1": (NDays(n=1), oracles.ndays_rule(1)),
    "ndays-3": (NDays(n=3), oracles.ndays_rule(3)),
    "ndays-10": (NDays(n=10), oracles.ndays_rule(10)),
    "dotmod-3": (DotMod(n=3), oracles.dotmod_rule(3, 0.04, (0, 1, 2))),
    "dotmod-8": (
        DotMod(n=8, variant="published"),
        oracles.dotmod_rule(8, 0.04, (1, 2, 3)),
    ),
}

every_stream = pytest.mark.parametrize("name", STREAMS)


@functools.cache
def joint_of_six_days(name):
    generator, _ = STREAMS[name]
    tokens = np.array(list(np.ndindex((3,) * 6)))
    rows = jax.vmap(lambda row: log_predictives(generator, row))(jnp.asarray(tokens))
    chosen = np.take_along_axis(np.asarray(rows, dtype=np.float64), tokens[:, :, None], axis=2)
    return np.exp(chosen.sum(axis=(1, 2))).reshape((3,) * 6)


@every_stream
@pytest.mark.parametrize("apart", [1, 3])
def test_two_days_have_the_same_distribution_wherever_they_stand(name, apart):
    joint = joint_of_six_days(name)
    pairs = [
        joint.sum(axis=tuple(set(range(6)) - {first, first + apart})) for first in range(6 - apart)
    ]
    # Six float32 logarithms a sequence, and a law found to one part in a billion.
    for later in pairs[1:]:
        np.testing.assert_allclose(later, pairs[0], atol=3e-6)


@pytest.mark.slow
@every_stream
def test_once_the_whole_window_is_seen_the_rule_decides(name):
    generator, rule = STREAMS[name]
    tokens = sample(generator, key=jr.key(5), size=20, length=16)
    rows = np.exp(jax.vmap(lambda row: log_predictives(generator, row))(tokens))
    for days, predicted in zip(np.asarray(tokens), rows, strict=True):
        for t in range(generator.n, len(days)):
            expected = rule[tuple(days[t - generator.n : t])]
            np.testing.assert_allclose(predicted[t], expected, atol=1e-6)


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
