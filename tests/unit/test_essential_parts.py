"""Shares learned with fixed parts: laws on models whose parts depend on no token, and the words."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab import Experiment, Training, prepare
from attnlab.generators import Markov
from attnlab.inspection.essential_parts import essential_parts_in_words
from attnlab.inspection.measures import (
    ESSENTIAL_PARTS,
    learned,
    learned_with_mean_mlp,
    learned_with_mean_patterns,
    measure_of,
)
from attnlab.models import TransformerOptions
from attnlab.training.measure import Estimate
from tests.unit.model_settings import LENGTH, drawn

_SETUP = prepare(
    Experiment(
        generator=Markov(),
        model=TransformerOptions(heads=2),
        training=Training(test_size=300, train_size=10),
        length=LENGTH,
    )
)
# As large as trained weights, so that patterns and the MLP's outputs differ between sequences.
_MODEL = drawn(_SETUP.experiment.model, _SETUP.experiment.generator.vocabulary.size)


def _without(where):
    """The model with zeros there."""
    zeros = tuple(jnp.zeros_like(each) for each in where(_MODEL))
    return eqx.tree_at(where, _MODEL, zeros)


def test_a_part_that_depends_on_no_token_can_be_fixed():
    even = _without(lambda model: tuple(model.layers[0].query))
    constant = _without(lambda model: (model.layers[0].mlp[1].weight,))
    for fixed, model in ((learned_with_mean_patterns, even), (learned_with_mean_mlp, constant)):
        assert fixed(model, _SETUP).value == pytest.approx(learned(model, _SETUP).value, abs=1e-5)
        assert abs(fixed(_MODEL, _SETUP).value - learned(_MODEL, _SETUP).value) > 0.01


def test_the_mean_output_is_that_of_the_mlp_alone():
    """Computed by hand: x W + b after GELU, on rows that were normalised by hand."""
    tokens = np.asarray(_SETUP.test[:, :-1])
    trace = _trace(tokens)
    normaliser = _MODEL.layers[0].normalisations[1]
    rows = trace["attention.0"][:, -1].astype(np.float64)
    centred = rows - rows.mean(axis=1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    normal = normal * np.asarray(normaliser.weight) + np.asarray(normaliser.bias)
    (wide, wide_bias), (narrow, bias) = (map(np.asarray, each) for each in _MODEL.layers[0].mlp)
    hidden = normal @ wide + wide_bias
    hidden = hidden * (1 + np.tanh(np.sqrt(2 / np.pi) * (hidden + 0.044715 * hidden**3))) / 2
    mean = (hidden @ narrow + bias).mean(axis=0)
    by_hand = eqx.tree_at(
        lambda model: (model.layers[0].mlp[1].weight, model.layers[0].mlp[1].bias),
        _MODEL,
        (jnp.zeros_like(_MODEL.layers[0].mlp[1].weight), jnp.asarray(mean, jnp.float32)),
    )
    found = learned_with_mean_mlp(_MODEL, _SETUP).value
    assert found == pytest.approx(learned(by_hand, _SETUP).value, abs=1e-4)


def _trace(tokens):
    queries = jnp.arange(tokens.shape[1])
    read = jax.vmap(lambda each: _MODEL(each, queries, capture=("attention.0",))[1].residual)
    return {site: np.asarray(rows) for site, rows in read(jnp.asarray(tokens)).items()}


@pytest.mark.parametrize(
    "changes",
    [{"layers": 2}, {"mlp_width": 0}, {"residual": "without"}, {"normalisation": "post"}],
    ids=str,
)
def test_other_models_have_no_such_measure(changes):
    model = dataclasses.replace(_SETUP.experiment.model, **changes)
    other = dataclasses.replace(_SETUP.experiment, model=model)
    setup = prepare(other)
    for name in ESSENTIAL_PARTS:
        assert measure_of(name).estimate(setup.state.model, setup) is None


def _words(whole, patterns, mlp):
    return essential_parts_in_words(*(Estimate(each, 0.012) for each in (whole, patterns, mlp)))


def test_the_words_say_which_part_is_needed():
    words = _words(0.97, 0.96, -0.2)
    assert "still reaches 96.0 ± 1.2 %: where it looks need not depend on the tokens." in words
    assert "MLP, it is no better than a guess: it needs the MLP." in words
    words = _words(0.97, 0.31, 0.9)
    assert "the model reaches only 31.0 ± 1.2 %: where it looks must depend on the tokens." in words
    assert "MLP, it still reaches 90.0 ± 1.2 %: it hardly needs the MLP." in words
    # Within two errors of a guess.
    assert "the model is no better than a guess" in _words(0.97, 0.023, 0.5)
