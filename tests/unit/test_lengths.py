"""Trained models on sequences of other lengths."""

import dataclasses
from types import SimpleNamespace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.configuration.options import OptionError, present
from attnlab.generators import Markov
from attnlab.inspection import (
    check_length,
    excess_at_double_length,
    excess_at_fourfold_length,
    loss_at_length,
    model_at_length,
)
from attnlab.inspection.lengths import sequences_at_length
from attnlab.models import GRUOptions, TransformerOptions
from attnlab.positions import POSITIONS, Rotary
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import build_model, prepare
from attnlab.training.measure import Estimate
from tests.unit.small_experiments import SMALL, SMALL_LINEAR, SMALL_TASK, SMALL_TRANSFORMER, small

pytestmark = pytest.mark.usefixtures("quickly_compiled")

T = SMALL.length
NEXT = small(SMALL_TRANSFORMER, loss="next", test_size=300)


def with_position(position, experiment=NEXT):
    model = dataclasses.replace(experiment.model, position=position)
    return dataclasses.replace(experiment, model=model)


ROTARY = with_position(Rotary())


@eqx.filter_jit
def _compiled(model, tokens):
    return model(tokens, jnp.arange(tokens.size))[0]


def logits(model, tokens):
    return np.asarray(_compiled(model, jnp.asarray(tokens)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "experiment",
    [
        *(with_position(POSITIONS[each]()) for each in ("none", "sinusoidal", "rotary", "alibi")),
        dataclasses.replace(NEXT, model=GRUOptions(hidden_size=3)),
    ],
    ids=lambda each: getattr(each.model, "position", each.model).name,
)
def test_a_causal_model_predicts_the_leading_positions_as_at_its_own_length(experiment):
    model, tokens = build_model(experiment), np.resize([2, 0, 1, 1], 4 * T)
    longer = model_at_length(experiment, model, 4 * T)
    np.testing.assert_allclose(
        logits(longer, tokens)[:T], logits(model, tokens[:T]), atol=1e-5
    )  # fmt: skip


@pytest.mark.slow
def test_at_the_trained_length_the_losses_are_those_of_the_test():
    setup = prepare(ROTARY)
    model, test = setup.state.model, setup.test
    found = loss_at_length(ROTARY, model, np.asarray(test), T)
    everywhere = np.broadcast_to(np.arange(T + 1) > 0, test.shape)
    expected = evaluate(model, test, readout="last", loss_mask=everywhere).by_position
    assert (found.loss, found.sequences) == (expected, 300)


@pytest.mark.slow
def test_losses_and_floor_of_longer_sequences_are_those_of_the_chain():
    setup, length = prepare(ROTARY), 3 * T
    model = setup.state.model
    found = loss_at_length(ROTARY, model, np.asarray(setup.test), length)
    assert found.loss.positions == tuple(range(1, length + 1))
    # Other sequences of the chain, in NumPy.
    start, moves = np.array(Markov().initial), np.array(Markov().transition)
    rng, longer = np.random.default_rng(1), model_at_length(ROTARY, model, length)
    tokens = np.empty((200, length + 1), int)
    tokens[:, 0] = rng.choice(3, 200, p=start)
    for t in range(length):
        tokens[:, t + 1] = [rng.choice(3, p=moves[token]) for token in tokens[:, t]]
    found_logits = np.array([logits(longer, row[:-1]) for row in tokens[:40]], float)
    log_probs = found_logits - np.log(np.exp(found_logits).sum(axis=2, keepdims=True))
    losses = -np.take_along_axis(log_probs, tokens[:40, 1:, None], axis=2)[..., 0]
    each = (losses + np.log(moves[tokens[:40, :-1], tokens[:40, 1:]]))[:, T:].mean(axis=1)
    error = np.hypot(each.std() / np.sqrt(40), found.excess.stderr)
    assert abs(found.excess.value - each.mean()) < 4 * error
    error = np.hypot(losses.mean(axis=1).std() / np.sqrt(40), found.loss.mean_stderr)
    assert abs(found.loss.mean - losses.mean()) < 4 * error
    entropy = -(moves * np.log(moves)).sum(axis=1)
    floors = [start @ np.linalg.matrix_power(moves, t) @ entropy for t in range(length)]
    np.testing.assert_allclose([best.nll for best in found.floor], floors, atol=1e-5)


@pytest.mark.parametrize(
    ("experiment", "length", "words"),
    [
        (NEXT, 2 * T, "`position` is 'learned'"),
        (SMALL_TASK, 2 * SMALL_TASK.length, "`length` is 6: all sequences of 'cards'"),
        (ROTARY, 4 * T + 1, "more than 4 times the trained length"),
        (dataclasses.replace(ROTARY, length=100), 300, "`length` is 300"),
        (small(SMALL_LINEAR), 2 * T, "`model` is 'linear'"),
        (with_position(Rotary(), SMALL_TRANSFORMER), 2 * T, "`loss` is 'last'"),
    ],
)
def test_what_cannot_be_tested_is_refused_with_the_reason(experiment, length, words):
    with pytest.raises(OptionError, match=words):
        check_length(experiment, length)


@pytest.mark.slow
def test_an_infinite_loss_is_refused_in_words():
    setup = prepare(ROTARY)
    model = eqx.tree_at(lambda model: model.tokens, setup.state.model, replace_fn=jnp.log)
    with pytest.raises(OptionError, match="not a finite number"):
        loss_at_length(ROTARY, model, np.asarray(setup.test), 2 * T)


@pytest.mark.slow
def test_one_number_by_which_encodings_are_compared(monkeypatch):
    setup = prepare(ROTARY)
    model = setup.state.model
    found = loss_at_length(ROTARY, model, np.asarray(setup.test), 2 * T)
    assert excess_at_double_length(model, setup) == found.excess
    assert found.excess.value > 0
    monkeypatch.setattr(
        "attnlab.inspection.measures.loss_at_length",
        lambda experiment, model, test, length: SimpleNamespace(excess=Estimate(length)),
    )
    assert present(excess_at_double_length(model, setup)).value == 2 * T
    assert present(excess_at_fourfold_length(model, setup)).value == 4 * T
    monkeypatch.undo()
    # A learned encoding has no vectors for the later positions.
    assert excess_at_double_length(build_model(NEXT), prepare(NEXT)) is None


def test_long_sequences_of_large_models_are_fewer():
    large = TransformerOptions(
        layers=8, heads=16, d_attn=64, d_model=128, mlp_width=512, position=Rotary()
    )
    experiment = small(dataclasses.replace(ROTARY, length=64, model=large), test_size=5_000)
    assert [sequences_at_length(each, 256) for each in (ROTARY, experiment)] == [300, 20]
