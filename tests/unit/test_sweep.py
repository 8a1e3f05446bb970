"""Matched runs: they are those of `train`, one by one, and their figures are right."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import Markov
from attnlab.inspection import final_probs
from attnlab.lessons.sweep import (
    SCALED,
    UNSCALED,
    Sweep,
    Track,
    check_steps,
    over_seeds,
    run_sweep,
    steps_to,
    target_gap,
)
from attnlab.models import AttentionOptions, LinearOptions
from attnlab.models.attention import padded
from attnlab.models.parts import SCORE_CHOICES
from attnlab.optimum import next_token, optimum
from attnlab.training.experiment import build_model, prepare
from attnlab.training.loop import train
from attnlab.training.steps import initial_state
from tests.unit.small_experiments import SMALL, small

STEPS = 40
SWEEP = Sweep(small(steps=STEPS, learning_rate=0.02), widths=(2, 5), gains=(1.0, 3.0), seeds=2)


@pytest.fixture(scope="module")
def passed():
    return list(run_sweep(SWEEP))


@pytest.fixture(scope="module")
def tracks(passed):
    return passed[-1].tracks


def trained_alone(track, gain, seed):
    """The run of a track by `train`, with weights made here; its start and its end."""
    options = dataclasses.replace(SWEEP.experiment.model, d_attn=track.d_attn, scale=track.scale)
    experiment = dataclasses.replace(SWEEP.experiment, model=options, seed=seed)
    model = build_model(experiment)
    model = eqx.tree_at(
        lambda model: [*model.query, *model.key],
        model,
        [gain * part for part in (*model.query, *model.key)],
    )
    setup = prepare(experiment)._replace(state=initial_state(model, experiment.training))
    for progress in train(experiment, setup):
        pass
    return model, progress.state.model, np.asarray(setup.test[:, :-1])


def gap_alone(model, visible):
    """KL(true law ‖ model) in float64, one sequence after the other."""
    probs = np.asarray(final_probs(model, visible, "last"), np.float64)
    laws = [next_token(Markov(), days.tolist()) for days in visible]
    return np.mean([(law * np.log(law / p)).sum() for law, p in zip(laws, probs, strict=True)])


def rows_alone(model, visible):
    """Standard deviation and entropy of the last row, written out in NumPy."""

    @jax.jit
    @jax.vmap
    def last_query_and_keys(days):
        one_hot = jax.nn.one_hot(days, model.vocab)
        parts = model.parts(one_hot, jnp.array([days.size - 1]))
        return parts.query[0], parts.key

    query, key = (np.asarray(part, np.float64) for part in last_query_and_keys(visible))
    factor = model.options.d_attn**-0.5 if model.options.scale == SCALED else 1.0
    scores = factor * np.einsum("sd,skd->sk", query, key)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    entropies = -(weights * np.log(np.maximum(weights, 1e-300))).sum(axis=1)
    return scores.std(axis=1).mean(), entropies.mean()


@pytest.mark.slow
def test_each_run_is_that_of_train(tracks):
    # The narrow head with 1/√d: 2 components within 5, larger weights, the second seed.
    track, gain, seed = tracks[0], 1, 1
    start, end, visible = trained_alone(track, SWEEP.gains[gain], seed)
    for look, model in ((0, start), (-1, end)):
        # Forty steps of Adam pass single precision on.
        assert track.gap[gain, seed, look] == pytest.approx(
            gap_alone(model, visible), rel=2e-3, abs=2e-5
        )
        std, nats = rows_alone(model, visible)
        assert track.std[gain, seed, look] == pytest.approx(std, rel=2e-3)
        assert track.entropy[gain, seed, look] == pytest.approx(nats, rel=2e-3, abs=1e-4)


@pytest.mark.slow
def test_starts_are_matched(tracks):
    for scaled, unscaled in zip(tracks[::2], tracks[1::2], strict=True):
        assert (scaled.scale, unscaled.scale) == (SCALED, UNSCALED)
        factor = np.sqrt(scaled.d_attn)
        np.testing.assert_allclose(unscaled.std[..., 0], factor * scaled.std[..., 0], rtol=1e-5)
    # Biases start at 0, so that scores grow by the square of the factor on the weights.
    np.testing.assert_allclose(tracks[0].std[1, :, 0], 9 * tracks[0].std[0, :, 0], rtol=1e-4)


@pytest.mark.slow
def test_progress(passed):
    shares = [progress.share for progress in passed]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)
    assert [track.d_attn for track in passed[-1].tracks] == [2, 2, 5, 5]
    for progress in passed:
        for track in progress.tracks:
            assert track.gap.shape == (2, 2, len(track.steps))
            np.testing.assert_array_equal(track.steps, check_steps(STEPS)[: len(track.steps)])


@pytest.mark.parametrize("steps", [1, 2, 7, 100, 5_000])
def test_checks(steps):
    checks = check_steps(steps)
    assert (checks[0], checks[-1]) == (0, steps)
    assert (np.diff(checks) > 0).all()
    assert len(checks) <= 21


def test_steps_to_and_errors():
    gap = np.array([[[0.3, 0.2, 0.05, 0.15], [0.3, 0.2, 0.2, 0.2]]])
    track = Track(4, SCALED, np.array([0, 10, 20, 30]), gap, gap, gap)
    np.testing.assert_array_equal(steps_to(track, 0.1), [[20, np.inf]])
    np.testing.assert_array_equal(steps_to(track, 0.3), [[0, 0]])
    assert over_seeds(np.array([1.0, 2.0, 3.0])) == pytest.approx((2, 1 / np.sqrt(3)))
    mean, error = over_seeds(np.array([1.5]))
    assert mean == 1.5
    assert np.isnan(error)


def test_the_target_is_a_share_of_what_can_be_learned():
    floor = optimum(Markov(), 4).final.nll
    assert target_gap(SMALL, 1.0) == 0
    assert target_gap(SMALL, 0.0) == pytest.approx(np.log(3) - floor)
    assert target_gap(SMALL, 0.9) == pytest.approx(0.1 * (np.log(3) - floor))


def with_score(score):
    return dataclasses.replace(SMALL, model=AttentionOptions(score=score))


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"widths": ()}, "widths"),
        ({"widths": (4, 129)}, "129"),
        ({"widths": (0,)}, "widths"),
        ({"gains": ()}, "gains"),
        ({"gains": (0.0,)}, "gains"),
        ({"gains": (float("nan"),)}, "nan"),
        ({"seeds": 0}, "seeds"),
        ({"seeds": 17}, "17"),
        ({"experiment": small(steps=5_001)}, "5001"),
        ({"experiment": dataclasses.replace(SMALL, model=LinearOptions())}, "linear"),
        *(({"experiment": with_score(score)}, score) for score in SCORE_CHOICES if score != "dot"),
    ],
)
def test_refused(changes, word):
    with pytest.raises(OptionError, match=word):
        dataclasses.replace(SWEEP, **changes)


@pytest.mark.slow
@pytest.mark.parametrize("gain", [1.0, 3.0])
def test_a_padded_head_is_the_head_with_larger_queries_and_keys(gain):
    model = build_model(SMALL)
    wide = padded(model, 7, scale="temperature", gain=1.0)
    assert wide.factor == 1.0
    wide = jax.tree.map(jnp.asarray, padded(model, 7, scale=SCALED, gain=gain))
    larger = eqx.tree_at(
        lambda head: (head.query, head.key),
        model,
        replace_fn=lambda part: jax.tree.map(lambda leaf: gain * leaf, part),
    )
    days = jnp.array([0, 2, 1, 1])
    for mine, its in zip(wide(days, jnp.arange(4)), larger(days, jnp.arange(4)), strict=True):
        for one, other in zip(jax.tree.leaves(mine), jax.tree.leaves(its), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)
    with pytest.raises(ValueError, match="`width` is 1"):
        padded(model, 1, scale=SCALED, gain=1.0)
