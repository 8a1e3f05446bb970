"""`ndays` and `dotmod` are windows of streams that have run forever, at full size too."""

import functools
import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.generators import DotMod, NDays, log_predictives, sample
from tests.unit import process_oracles as oracles

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
    tokens = oracles.all_sequences(6)
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
            expected = rule(tuple(int(day) for day in days[t - generator.n : t]))
            np.testing.assert_allclose(predicted[t], expected, atol=1e-6)


@every_stream
def test_a_hidden_past_is_summed_over_and_not_assumed(name):
    generator, _ = STREAMS[name]
    joint = joint_of_six_days(name)
    window = min(generator.n, 3)
    # p(d4 | d3, d2, …) = Σ p(older, d3, d2, …, d4) / p(…): fewer days seen is a mixture of more.
    late = joint.sum(axis=(*range(4 - window), 5))
    early = joint.sum(axis=tuple(range(window + 1, 6)))
    np.testing.assert_allclose(early, late, atol=3e-6)


def test_ndays_treats_all_weathers_alike():
    joint = joint_of_six_days("ndays-10")
    for order in itertools.permutations(range(3)):
        np.testing.assert_allclose(joint[np.ix_(*[order] * 6)], joint, rtol=1e-5)
