"""Activations by site: what `capture` gives, and what an edit in their place changes."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import HiddenMarkov, beliefs, sample
from attnlab.inspection import effect_of
from attnlab.models import (
    ALL_MODELS,
    ConvOptions,
    Edit,
    LSTMOptions,
    RNNBottleneckOptions,
    TransformerOptions,
    edited,
)
from attnlab.models.inside import mean_trace, removed, trace_of
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.loop import train
from attnlab.training.steps import Training
from tests.unit.model_oracles import as_float64
from tests.unit.model_settings import LENGTH, SOURCE, VOCAB, drawn
from tests.unit.small_experiments import SMALL_MODELS

pytestmark = pytest.mark.usefixtures("quickly_compiled")

# Op by op each part of a model would compile alone.
build = functools.cache(eqx.filter_jit(drawn))
TARGET = LENGTH - SOURCE + 1
TOKENS, OTHERS = np.array([2, 0, 1, 1, 0]), np.array([0, 2, 2, 0, 1])
TRANSFORMER = TransformerOptions(layers=2, heads=2, d_attn=2, d_model=4, mlp_width=5)

# Shapes of the small models of `small_experiments`, by what their docstrings say.
_STATE = {"state": (LENGTH, 3)}
SHAPES = {
    "attention": {"embedding": (LENGTH, VOCAB + 2)},
    "linear": {},
    "transformer": dict.fromkeys(
        ("embedding", "attention.0", "mlp.0", "attention.1", "mlp.1", "final"), (LENGTH, 4)
    ),
    "gru": _STATE,
    # h and c.
    "lstm": {"state": (LENGTH, 6)},
    "rnn": _STATE,
    "ssm": _STATE | {"mlp.0": (LENGTH, 3)},
    "conv": dict.fromkeys(("embedding", "conv.0", "conv.1"), (LENGTH, 3)),
    "mlp": {"mlp.0": (LENGTH, 3)},
    "encoder-decoder": {
        **dict.fromkeys(
            ("source.embedding", "source.attention.0", "source.mlp.0", "source.final"), (SOURCE, 4)
        ),
        **dict.fromkeys(("embedding", "attention.0", "cross.0", "mlp.0", "final"), (TARGET, 4)),
    },
    "rnn-bottleneck": {"source.state": (SOURCE, 3), "state": (TARGET, 3)},
    "rnn-attention": {"source.state": (SOURCE, 3), "state": (TARGET, 3)},
}


@eqx.filter_jit
def logits_of(model, tokens):
    return model(jnp.asarray(tokens), jnp.arange(LENGTH))[0]


@pytest.mark.parametrize("name", ALL_MODELS)
def test_every_family_gives_the_sites_that_it_names_at_every_position(name):
    # Shapes alone, which need no weights.
    model = eqx.filter_eval_shape(drawn, SMALL_MODELS[name].model)
    assert model.sites == tuple(SHAPES[name])

    def read(model, capture):
        # At one query.
        _, trace = model(jnp.array(TOKENS), jnp.array([LENGTH - 1]), capture=capture)
        return trace.residual

    found = eqx.filter_eval_shape(read, model, model.sites)
    assert {site: rows.shape for site, rows in found.items()} == SHAPES[name]
    assert eqx.filter_eval_shape(read, model, ()) == {}


def at(position, length):
    return np.arange(length) == position


SPLICED = {
    # One token's vector, at position 2.
    "attention": (SMALL_MODELS["attention"].model, "embedding", at(2, LENGTH), [2]),
    "transformer": (TRANSFORMER, "embedding", at(2, LENGTH), [2]),
    "conv": (ConvOptions(layers=2, d_model=3), "embedding", at(2, LENGTH), [2]),
    "encoder-decoder": (
        SMALL_MODELS["encoder-decoder"].model, "source.embedding", at(1, SOURCE), [1],
    ),
    # All that a recurrent network knows of the tokens up to position 2.
    **{
        name: (SMALL_MODELS[name].model, "state", at(2, LENGTH), [0, 1, 2])
        for name in ("gru", "lstm", "rnn", "ssm")
    },
    "bottleneck, source": (
        RNNBottleneckOptions(hidden_size=3, cell="lstm"), "source.state", at(2, SOURCE), [0, 1, 2],
    ),
    # The state behind the first target token has read the source before it.
    "bottleneck, target": (
        RNNBottleneckOptions(hidden_size=3, cell="lstm"), "state", at(1, TARGET), [0, 1, 2, 3],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "encoder-decoder" else name
        for name in SPLICED
    ],
)
def test_an_edit_at_some_positions_is_a_run_on_other_tokens(name):
    options, site, where, positions = SPLICED[name]
    model, spliced = build(options), TOKENS.copy()
    spliced[positions] = OTHERS[positions]
    value = trace_of(model, OTHERS, capture=(site,)).residual[site]
    found = logits_of(edited(model, Edit(site=site, value=value, where=where)), TOKENS)
    # Predictions before the edit are of the tokens as they were.
    first = positions[-1]
    np.testing.assert_allclose(found[first:], logits_of(model, spliced)[first:], atol=1e-5)
    if not options.reads_source:
        np.testing.assert_allclose(found[:first], logits_of(model, TOKENS)[:first], atol=1e-5)


def test_edits_of_patterns_and_of_sites_are_made_together_in_one_pass():
    model = build(TRANSFORMER)
    mask = np.tri(LENGTH, dtype=bool)
    without = [Edit(layer=0, head=head, pattern=removed(mask)) for head in range(2)]
    rows = jr.normal(jr.key(1), (LENGTH, 4))
    assert edited(model) is model
    changed = edited(edited(model, *without), Edit(site="embedding", value=rows))
    found = trace_of(changed, TOKENS, capture=("embedding", "attention.0")).residual
    np.testing.assert_array_equal(found["embedding"], rows)
    # Without its heads, the attention adds its bias alone.
    np.testing.assert_allclose(
        found["attention.0"], rows + model.layers[0].output.bias[None, :], atol=1e-6
    )


def test_a_value_may_depend_on_the_sequence():
    model = build(TRANSFORMER)
    edit = Edit(site="final", value=lambda one_hot: one_hot @ jnp.eye(VOCAB, 4))
    weight, bias = model.unembedding
    expected = as_float64(weight)[TOKENS] + as_float64(bias)
    np.testing.assert_allclose(logits_of(edited(model, edit), TOKENS), expected, atol=1e-6)


@pytest.mark.slow
def test_the_effect_of_an_edit_at_a_site_is_that_on_the_test_sequences():
    model, rng = build(TRANSFORMER), np.random.default_rng(3)
    test = rng.integers(VOCAB, size=(50, LENGTH + 1)).astype(np.int32)
    edit = Edit(site="final", value=np.zeros((LENGTH, 4), np.float32))
    bias = as_float64(model.unembedding.bias)
    expected = np.log(np.exp(bias).sum()) - bias[test[:, -1]].mean()
    found = effect_of(model, edit, test=test, readout="last")
    assert found.nll == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_a_mean_trace_has_mean_activations():
    model, site = build(LSTMOptions(hidden_size=2)), ("state",)
    sequences = np.random.default_rng(2).integers(VOCAB, size=(11, LENGTH))
    each = [trace_of(model, tokens, capture=site).residual["state"] for tokens in sequences]
    found = mean_trace(model, sequences, capture=site).residual["state"]
    np.testing.assert_allclose(found, np.mean(each, axis=0), atol=1e-6)


@pytest.mark.slow
def test_what_no_model_has_is_refused():
    model = build(TRANSFORMER)
    with pytest.raises(OptionError, match=r"`site` is 'mlp.2': .*Choose one of 'embedding', 'att"):
        model(jnp.array(TOKENS), jnp.arange(1), capture=("mlp.2",))
    with pytest.raises(OptionError, match=r"`site` is 'state'"):
        edited(model, Edit(site="state", value=np.zeros((LENGTH, 4))))
    linear = build(SMALL_MODELS["linear"].model)
    with pytest.raises(OptionError, match=r"`site` is 'embedding': .*Choose another model"):
        trace_of(linear, TOKENS, capture=("embedding",))
    for name, site, shape in (
        ("transformer", "mlp.0", (LENGTH, 3)),
        ("gru", "state", (LENGTH - 1, 3)),
        ("gru", "state", (LENGTH, 1)),
    ):
        wrong = edited(build(SMALL_MODELS[name].model), Edit(site=site, value=np.zeros(shape)))
        with pytest.raises(OptionError, match=rf"`value` is \(.*Give the shape \({LENGTH}, [34]\)"):
            logits_of(wrong, TOKENS)
    pattern, value = np.eye(LENGTH), np.zeros((LENGTH, 4))
    for wrong in (
        {}, {"site": "final"}, {"value": value}, {"pattern": pattern, "site": "final"},
        {"pattern": pattern, "site": "final", "value": value},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="either a `pattern`, or a `site` and its `value`"):
            Edit(**wrong)


def unexplained(rows, targets, *, fitted):
    """Share of the variance that a linear probe, fitted on leading rows, leaves in the others."""
    inputs = np.column_stack([rows, np.ones(len(rows))])
    weights, *_ = np.linalg.lstsq(inputs[:fitted], targets[:fitted])
    errors, held_out = inputs[fitted:] @ weights - targets[fitted:], targets[fitted:]
    return (errors**2).sum() / ((held_out - held_out.mean(axis=0)) ** 2).sum()


def rows_of(model, sequences, site):
    """The activations of all positions of all sequences, in float64."""

    @eqx.filter_jit
    def read(model, sequences):
        return jax.vmap(
            lambda tokens: model(tokens, jnp.arange(1), capture=(site,))[1].residual[site]
        )(sequences)

    found = as_float64(read(model, sequences))
    return found.reshape(-1, found.shape[-1])


@pytest.mark.slow
def test_a_linear_probe_reads_the_token_from_the_embedding_and_the_belief_before_the_logits():
    experiment = Experiment(
        generator=HiddenMarkov(),
        length=10,
        model=TransformerOptions(heads=2, d_attn=8, d_model=16, mlp_width=32),
        training=Training(loss="next", steps=800, data="fresh", batch=64, test_size=100),
    )
    *_, last = train(experiment, prepare(experiment))
    model, process = last.state.model, experiment.generator
    sequences = sample(process, key=jr.key(5), size=400, length=10)
    tokens = np.eye(VOCAB)[np.asarray(sequences).ravel()]
    known = jax.vmap(lambda one: beliefs(process, one))(sequences)
    belief = np.exp(as_float64(known))[:, 1:, :1].reshape(-1, 1)
    left = {
        (site, what): unexplained(rows_of(model, sequences, site), target, fitted=3_000)
        for site in ("embedding", "final")
        for what, target in (("token", tokens), ("belief", belief))
    }
    assert left["embedding", "token"] < 1e-6
    assert left["final", "belief"] < 0.05
    # Of the belief, the embedding has what the token at its position says.
    assert left["embedding", "belief"] > 0.15
