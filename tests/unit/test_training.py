"""Training: chunks, Adam, sources and evaluation."""

import dataclasses
import logging

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.generators import NDays
from attnlab.models import AttentionOptions
from attnlab.models.parts import Projection
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import prepare
from attnlab.training.loop import train
from attnlab.training.losses import LOSSES
from attnlab.training.steps import CHUNK_CAPACITY, advance, initial_state
from tests.unit.model_oracles import (
    as_float64,
    attention_objective,
    attention_parts,
    numpy_gradient,
)
from tests.unit.optimum_oracles import NEXT, START, ndays_rule, stream_joint
from tests.unit.small_experiments import SMALL, SMALL_LINEAR, small


def leaves_of(state):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(state) if hasattr(leaf, "shape")]


def assert_same_state(one, other):
    for a, b in zip(leaves_of(one), leaves_of(other), strict=True):
        np.testing.assert_array_equal(a, b)


def advanced(experiment, *chunks):
    setup = prepare(experiment)
    state, losses = setup.state, []
    for steps in chunks:
        state, found = advance(state, setup.source, experiment.training, key=setup.key, steps=steps)
        losses.append(found)
    joined = [np.concatenate(series) for series in zip(*losses, strict=True)]
    return state, joined


SOURCES = {
    "minibatch": small(),
    "full": small(batch_mode="full", train_size=50),
    "fresh": small(data="fresh"),
    "law": small(data="law"),
}


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_chunks_do_not_change_a_run(source):
    whole, losses = advanced(SOURCES[source], 10)
    parts, same_losses = advanced(SOURCES[source], 3, 0, 7)
    assert int(whole.step) == 10
    assert_same_state(whole, parts)
    np.testing.assert_array_equal(losses, same_losses)
    assert np.shape(losses) == (2, 10)


@pytest.mark.parametrize("steps", [-1, CHUNK_CAPACITY + 1])
def test_a_chunk_beyond_the_capacity_is_refused(steps):
    with pytest.raises(ValueError, match=f"`steps` is {steps}.*repeatedly"):
        advanced(small(), steps)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_the_first_loss_and_gradient_agree_with_numpy(loss):
    experiment = small(batch_mode="full", train_size=8, loss=loss)
    setup = prepare(experiment)
    state, losses = advance(setup.state, setup.source, experiment.training, key=setup.key, steps=1)
    model, sequences = setup.state.model, np.asarray(setup.source.sequences)

    def mean(parameters):
        return attention_objective(experiment, parameters, sequences, [1 / 8] * 8)

    parameters = [as_float64(part) for part in attention_parts(model)]
    # Up to four float32 log-probabilities of size 1 are summed.
    assert losses.objective[0] == pytest.approx(mean(parameters), abs=5e-6)
    # After one step Adam's first moment is (1 - 0.9) times the gradient.
    moments = attention_parts(state.optimiser[0].mu)
    for index, moment in enumerate(moments):
        gradient = numpy_gradient(mean, parameters, index)
        np.testing.assert_allclose(as_float64(moment) / 0.1, gradient, atol=1e-5)


@pytest.mark.slow
def test_huge_scores_are_tested_as_finite_numbers():
    """Where the compiler rounds a score differently in maximum and exponential, exp overflowed."""
    setup = prepare(dataclasses.replace(SMALL_LINEAR, model=AttentionOptions()))
    head = setup.state.model
    parts = {
        name: Projection(*(1e6 * leaf for leaf in getattr(head, name))) for name in ("query", "key")
    }
    huge = dataclasses.replace(head, **parts)
    assert np.isfinite(evaluate(huge, setup.test, readout="last").nll)


def test_a_perfect_accuracy_still_has_a_standard_error():
    setup = prepare(SMALL_LINEAR)
    sure = jax.tree.map(jnp.zeros_like, setup.state.model)
    bias = sure.projection.bias.at[1].set(10.0)
    sure = dataclasses.replace(sure, projection=sure.projection._replace(bias=bias))
    clouds = jnp.ones_like(setup.test)
    for test, accuracy in ((clouds, 1.0), (clouds - 1, 0.0)):
        found = evaluate(sure, test, readout="last")
        assert found.accuracy == accuracy
        assert found.accuracy_stderr == pytest.approx(np.sqrt(0.995 * 0.005 / 100))


def test_numbers_that_are_not_shapes_compile_nothing(caplog):
    advanced(small(), 3)
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        advanced(small(seed=9, learning_rate=0.5, steps=777), 5, 2)
        compiled = [r.getMessage() for r in caplog.records if "_advance" in r.getMessage()]
        assert not compiled
        advanced(small(batch=21), 1)
    # The count sees a program that does have to be compiled.
    assert any("take_steps" in record.getMessage() for record in caplog.records)


def test_minibatches_are_rows_of_the_set_and_change_every_step():
    source = prepare(small()).source
    rows = {tuple(row) for row in np.asarray(source.sequences)}
    one, other = (np.asarray(source.draw(jr.key(seed)).tokens) for seed in (0, 1))
    assert one.shape == (20, 5)
    assert {tuple(row) for row in one} <= rows
    assert (one != other).any()


def test_a_full_batch_is_the_whole_set():
    source = prepare(SOURCES["full"]).source
    assert source.sequences.shape == (50, 5)
    np.testing.assert_array_equal(source.draw(jr.key(0)).tokens, source.sequences)


@pytest.mark.slow
@pytest.mark.parametrize("generator", [SMALL.generator, NDays(n=3)])
def test_fresh_sequences_follow_the_generator(generator):
    fresh = dataclasses.replace(small(data="fresh", batch=5_000), generator=generator)
    drawn = np.asarray(prepare(fresh).source.draw(jr.key(3)).tokens)
    assert drawn.shape == (5_000, 5)
    repeats = (drawn[:, -1] == drawn[:, -2]).mean()
    law = np.array(START) @ np.linalg.matrix_power(NEXT, 3)
    pairs = stream_joint(ndays_rule(3), 2)
    expected = {"markov": law @ np.diag(NEXT), "ndays": np.trace(pairs)}[generator.name]
    assert repeats == pytest.approx(expected, abs=4.5 * 0.5 / np.sqrt(5_000))


@pytest.mark.slow
def test_markov_is_learned_and_the_floor_is_not_beaten():
    experiment = small(SMALL_LINEAR, steps=500, train_size=5_000, test_size=10_000, batch=100)
    setup = prepare(experiment)
    *_, last = train(experiment, setup)
    found = evaluate(last.state.model, setup.test, readout="last")
    law = np.array(START) @ np.linalg.matrix_power(NEXT, 3)
    floor = -(law[:, None] * NEXT * np.log(NEXT)).sum()
    ceiling = law @ np.max(NEXT, axis=1)
    chance = (law @ NEXT).max()
    assert found.nll > floor - 4 * found.nll_stderr
    assert found.nll < floor + 0.03
    assert found.accuracy > chance + 4 * found.accuracy_stderr
    assert found.accuracy < ceiling + 4 * found.accuracy_stderr


def test_the_state_before_the_first_step():
    model = prepare(SMALL).state.model
    state = initial_state(model, SMALL.training)
    assert int(state.step) == 0
    assert all(np.all(leaf == 0) for leaf in leaves_of(state.optimiser))
