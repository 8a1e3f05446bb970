"""Losses and readouts against float64 NumPy."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.models import AttentionOptions
from attnlab.models.base import READOUTS, final_logits, readout_position
from attnlab.training.losses import LOSSES, sequence_loss
from attnlab.training.sources import Example, as_examples
from tests.unit.model_oracles import as_float64, attention_forward, log_softmax, loss_of

DAYS = (2, 0, 1, 1, 0, 2)


@pytest.fixture(scope="module")
def model():
    return AttentionOptions(d_attn=2, mask="none").build(vocab=3, length=5, key=jr.key(0))


@pytest.fixture(scope="module")
def expected_log_probs(model):
    logits, _ = attention_forward(
        model, list(DAYS[:-1]), positions=as_float64(model.positions), mask="none", scale=2**-0.5
    )
    return log_softmax(logits)


@pytest.mark.slow
@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_agrees_with_numpy(model, expected_log_probs, loss, readout):
    example = jax.tree.map(lambda part: part[0], as_examples(jnp.array([DAYS])))
    found = sequence_loss(model, example, loss=loss, readout=readout)
    position = {"last": 4, "first": 0}[readout]
    objective, nll = loss_of(expected_log_probs, DAYS, loss=loss, position=position)
    # Sums of five float32 logarithms of size 1.
    assert float(found.objective) == pytest.approx(objective, abs=5e-6)
    assert float(found.nll) == pytest.approx(nll, abs=2e-6)


@pytest.mark.parametrize("readout", READOUTS)
def test_the_prediction_is_read_at_the_readout(model, expected_log_probs, readout):
    logits = as_float64(final_logits(model, jnp.array(DAYS[:-1]), readout))
    position = {"last": 4, "first": 0}[readout]
    assert readout_position(readout, 5) == position
    np.testing.assert_allclose(log_softmax(logits), expected_log_probs[position], atol=2e-6)


def test_the_loss_next_counts_what_is_asked_alone(model, expected_log_probs):
    loss_mask = jnp.array([True, False, False, True, False, True])
    example = Example(jnp.array(DAYS), loss_mask)
    found = sequence_loss(model, example, loss="next", readout="last")
    counted = [expected_log_probs[t - 1][DAYS[t]] for t in (3, 5)]
    assert float(found.objective) == pytest.approx(-np.mean(counted), abs=2e-6)
    # What a run's curve shows is then the mean as well: the last one alone is not tested.
    assert float(found.nll) == float(found.objective)
