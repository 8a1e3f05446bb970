"""How many parameters a model has, by part, and that each changes what it predicts."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from attnlab.models import (
    ALL_MODELS,
    EncoderDecoderOptions,
    parameters_by_part,
)
from attnlab.models.base import is_parameter
from tests.unit.model_settings import (
    LENGTH,
    MODELS_IN_ALL_SETTINGS,
    SMALL_TRANSFORMER,
    VOCAB,
)
from tests.unit.small_experiments import SMALL_MODELS

pytestmark = pytest.mark.usefixtures("quickly_compiled")


_ENCODER_DECODER = SMALL_MODELS["encoder-decoder"].model
MODELS = {
    **{name: experiment.model for name, experiment in SMALL_MODELS.items()},
    "transformer without an MLP": dataclasses.replace(SMALL_TRANSFORMER, mlp_width=0),
    "transformer without an MLP, post": dataclasses.replace(
        SMALL_TRANSFORMER, mlp_width=0, normalisation="post"
    ),
    "transformer without an MLP, RMSNorm": dataclasses.replace(
        SMALL_TRANSFORMER, mlp_width=0, normaliser="RMSNorm"
    ),
    "encoder-decoder without an MLP": dataclasses.replace(_ENCODER_DECODER, mlp_width=0),
    "encoder-decoder, post": dataclasses.replace(_ENCODER_DECODER, normalisation="post"),
}
IN_ALL_SETTINGS = MODELS_IN_ALL_SETTINGS | {
    name: options for name, options in MODELS.items() if options.reads_source
}
SOURCE = 2
# Under the score `dot` a bias of the keys adds the same to the scores of all keys of a query, which
# the softmax takes off.
WITHOUT_EFFECT = ".key.bias"


@pytest.mark.parametrize("setting", IN_ALL_SETTINGS)
@pytest.mark.parametrize("length", [2, 7])
def test_every_part_has_as_many_parameters_as_its_formula_says(setting, length):
    options = IN_ALL_SETTINGS[setting]
    parts = parameters_by_part(options, vocab=VOCAB, length=length)
    names = {**dataclasses.asdict(options), "vocab": VOCAB, "length": length}
    for part in parts:
        said = eval(part.formula.replace("×", "*"), {"__builtins__": {}}, names)
        assert part.count == said, part
    assert {part.part for part in parts} == set(options.parameter_formulas())


def test_there_is_a_model_of_every_family():
    assert {type(options) for options in MODELS.values()} == set(ALL_MODELS.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_changes_some_logit(name):
    options = MODELS[name]
    source = {"source": SOURCE} if options.reads_source else {}
    model = options.build(vocab=VOCAB, length=LENGTH, key=jr.key(0), **source)
    parameters, rest = eqx.partition(model, eqx.is_array)
    start, unravel = ravel_pytree(parameters)
    # Away from the start, where biases are 0.
    start = start + 0.3 * jr.normal(jr.key(1), start.shape)
    sequences = jr.randint(jr.key(2), (40, LENGTH), 0, VOCAB)

    @jax.jit
    def logits(flat):
        model = eqx.combine(unravel(flat), rest)
        return jax.vmap(lambda tokens: model(tokens, jnp.arange(LENGTH))[0])(sequences)

    changed = jax.lax.map(lambda change: logits(start + change), 0.5 * jnp.eye(start.size))
    effect = np.abs(np.asarray(changed) - np.asarray(logits(start))).max(axis=(1, 2, 3))
    named = [
        f"{jax.tree_util.keystr(path)}[{i}]"
        for path, leaf in jax.tree_util.tree_leaves_with_path(parameters)
        for i in range(leaf.size)
    ]
    # Rounding changes logits of about 1 by some 1e-6.
    dead = {one for one, size in zip(named, effect, strict=True) if size < 1e-4}
    is_dot = name != "rnn-attention"
    assert dead == {one for one in named if is_dot and WITHOUT_EFFECT in one}


def test_the_encoder_decoder_has_the_parameters_of_the_same_layer_in_torch():
    # torch.nn.TransformerDecoderLayer(d_model=32, nhead=2, dim_feedforward=64) has 12,832 numbers
    # and three normalisations; its two attentions have the biases that ours have.
    layer = EncoderDecoderOptions(d_model=32, heads=2, d_attn=16, mlp_width=64)
    sizes = {"vocab": VOCAB, "length": LENGTH, "source": SOURCE}
    model = eqx.filter_eval_shape(layer.build, **sizes, key=jr.key(0))
    attention, mlp, normalisation = 4 * (32 * 32 + 32), 32 * 64 + 64 + 64 * 32 + 32, 2 * 32
    assert 2 * attention + mlp + 3 * normalisation == 12_832
    counted = jax.tree.leaves(eqx.filter((model.decoder, model.crossing), is_parameter))
    assert sum(leaf.size for leaf in counted) == 12_832
