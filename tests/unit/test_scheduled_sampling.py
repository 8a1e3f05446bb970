"""Scheduled sampling: what the model reads instead of the true target, and what stays as it is."""

import dataclasses
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import Copy, loss_mask_of, sample
from attnlab.models import RNNBottleneckOptions, TransformerOptions
from attnlab.training.experiment import Experiment, build_model, from_json, prepare, to_json
from attnlab.training.losses import mixed_in, sequence_loss
from attnlab.training.sources import as_examples
from attnlab.training.steps import Training, advance

TASK = Copy(source_length=3, letters=8)
MODELS = (RNNBottleneckOptions(hidden_size=4), TransformerOptions(heads=1, d_attn=2, d_model=4))
LENGTH, GIVEN = 5, 3


def experiment_of(model=MODELS[0], **training):
    usual = {"loss": "next", "data": "fresh", "batch": 30, "test_size": 100, **training}
    return Experiment(generator=TASK, model=model, training=Training(**usual))


@pytest.fixture(scope="module", params=MODELS, ids=lambda options: options.name)
def mixed(request):
    """A model, sequences, and by single calls what it takes each target token for."""
    model = build_model(experiment_of(request.param))
    sequences = sample(TASK, key=jr.key(1), size=40, length=6)
    read = eqx.filter_jit(lambda tokens: model(tokens, jnp.arange(LENGTH))[0])
    own = []
    for tokens in np.asarray(sequences):
        logits = np.asarray(read(jnp.asarray(tokens[:-1])))
        own.append([int(np.argmax(logits[place - 1])) for place in range(GIVEN, LENGTH)])
    return model, sequences, np.array(own)


mixed_quickly = eqx.filter_jit(mixed_in)
loss_quickly = eqx.filter_jit(sequence_loss)


def mix(model, sequences, share, key=0):
    examples = as_examples(sequences, loss_mask_of(TASK, sequences))
    return np.asarray(mixed_quickly(model, examples, share=jnp.float32(share), key=jr.key(key)))


@pytest.mark.slow
def test_with_probability_1_all_target_tokens_are_the_models_own(mixed):
    model, sequences, own = mixed
    found = mix(model, sequences, 1.0)
    np.testing.assert_array_equal(found[:, :GIVEN], sequences[:, :GIVEN])
    np.testing.assert_array_equal(found[:, GIVEN:], own)
    assert (own != np.asarray(sequences)[:, GIVEN:LENGTH]).mean() > 0.3


@pytest.mark.slow
def test_with_another_probability_so_many_are(mixed):
    model, sequences, own = mixed
    true = np.asarray(sequences)[:, GIVEN:LENGTH]
    np.testing.assert_array_equal(mix(model, sequences, 0.0)[:, GIVEN:], true)
    found = np.concatenate([mix(model, sequences, 0.3, key)[:, GIVEN:] for key in range(10)])
    own, true = np.tile(own, (10, 1)), np.tile(true, (10, 1))
    differ = own != true
    assert ((found == own) | (found == true)).all()
    replaced = (found == own)[differ]
    assert abs(replaced.mean() - 0.3) < 4.5 * np.sqrt(0.3 * 0.7 / replaced.size)


@pytest.mark.slow
def test_what_is_read_is_asked_for_the_true_tokens(mixed):
    model, sequences, _ = mixed
    example = jax.tree.map(
        lambda leaf: leaf[0], as_examples(sequences, loss_mask_of(TASK, sequences))
    )
    visible = jnp.array([1, 2, 3, 0, 5])
    found = loss_quickly(model, example, loss="next", readout="last", visible=visible)
    logits = np.asarray(eqx.filter_jit(model)(visible, jnp.arange(LENGTH))[0], np.float64)
    log_probs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    true = np.asarray(example.tokens)
    expected = -np.mean([log_probs[place - 1, true[place]] for place in range(GIVEN, LENGTH + 1)])
    assert float(found.objective) == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
def test_the_probability_rises_from_0_with_the_steps():
    """At step s of S it is p s / S, and the batches are those without it."""
    experiment = experiment_of(steps=4)
    mixed = dataclasses.replace(experiment.training, scheduled_sampling=1.0)
    setup = prepare(experiment)
    step = jnp.int32(2)
    state = setup.state._replace(step=step)
    _, losses = advance(state, setup.source, mixed, key=setup.key, steps=1)
    examples = setup.source.draw(jr.fold_in(setup.key, step))
    own_key = jr.fold_in(jr.fold_in(setup.key, 2**31 - 1), step)
    visible = mixed_quickly(state.model, examples, share=jnp.float32(3 / 4), key=own_key)
    each = jax.jit(
        jax.vmap(
            lambda example, read: sequence_loss(
                state.model, example, loss="next", readout="last", visible=read
            )
        )
    )(examples, visible)
    assert losses.nll[0] == pytest.approx(float(each.nll.mean()), rel=1e-5)
    _, plain = advance(state, setup.source, experiment.training, key=setup.key, steps=1)
    assert abs(plain.nll[0] - losses.nll[0]) > 1e-4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "next"}, r"`scheduled_sampling` is 0.3: the process 'markov' .*Choose 0, or"),
        ({}, r"`scheduled_sampling` is 0.3: the loss 'last' .*Choose 0, or the loss 'next'"),
    ],
)
def test_where_nothing_is_written_it_is_refused(options, message):
    with pytest.raises(OptionError, match=message):
        Experiment(training=Training(scheduled_sampling=0.3, **options))


def test_what_was_written_before_it_means_what_it_did():
    record = json.loads(to_json(Experiment()))
    assert record["training"].pop("scheduled_sampling") == 0
    assert from_json(json.dumps(record)) == Experiment()
