"""Small models of every family with every option, for the tests of all of them."""

import dataclasses
import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from attnlab.attention import MASKS
from attnlab.models import (
    AttentionOptions,
    ConvOptions,
    GRUOptions,
    LinearOptions,
    LSTMOptions,
    MLPOptions,
    RNNOptions,
    SSMOptions,
    TransformerOptions,
)
from attnlab.positions import POSITIONS, Alibi
from tests.unit.position_oracles import SCORES

VOCAB, LENGTH, SOURCE = 3, 5, 3
TOKENS = (2, 0, 1, 1, 0)

SMALL_TRANSFORMER = TransformerOptions(
    layers=2, heads=2, d_attn=2, d_model=4, mlp_width=5, temperature=2.0
)
# Every encoding, with masks and embeddings in turn; encodings of scores meet every mask.
HEADS = dict.fromkeys(
    [
        *zip(POSITIONS, itertools.cycle(MASKS), itertools.cycle(("one-hot", "learned"))),
        *itertools.product(SCORES, MASKS, ["one-hot"]),
    ]
)
# Every other value of an option, and every encoding that reaches the stack in a way of its own.
STACKS = {
    "none, heads 1": {"heads": 1},
    "scalar, mask none": {"mask": "none"},
    "sinusoidal, without residual": {"residual": "without"},
    "learned, normalisation post": {"normalisation": "post"},
    "rotary, mask published, temperature": {"mask": "published", "scale": "temperature"},
    "alibi": {},
    "learned, layers 1, no normalisation": {"layers": 1, "normalisation": "none"},
    "learned, no MLP": {"mlp_width": 0},
    "learned, RMSNorm, silu, tied": {
        "normaliser": "RMSNorm", "activation": "silu", "unembedding": "tied",
    },
    "scalar, tied, post, RMSNorm": {
        "normalisation": "post", "normaliser": "RMSNorm", "unembedding": "tied",
    },
    "learned, wide values, additive": {"d_value": 3, "score": "additive", "activation": "relu"},
    "rotary, narrow values, gaussian": {"d_value": 1, "score": "gaussian", "activation": "tanh"},
    "learned, chunked": {"attention": "chunked"},
    "alibi, chunked, additive": {"attention": "chunked", "score": "additive", "d_value": 3},
}  # fmt: skip
MODELS_IN_ALL_SETTINGS = {
    **{
        f"attention {position} {mask} {embedding}": AttentionOptions(
            d_attn=2, d_model=4, position=POSITIONS[position](), mask=mask, embedding=embedding
        )
        for position, mask, embedding in HEADS
    },
    **{
        f"transformer {name}": dataclasses.replace(
            SMALL_TRANSFORMER, position=POSITIONS[name.split(",")[0]](), **changes
        )
        for name, changes in STACKS.items()
    },
    **{
        f"transformer alibi by head, {attention}": dataclasses.replace(
            SMALL_TRANSFORMER, position=Alibi(slopes="by head"), attention=attention
        )
        for attention in ("plain", "chunked")
    },
    **{
        f"attention {score}": AttentionOptions(d_attn=2, d_model=4, score=score)
        for score in ("additive", "gaussian")
    },
    "linear": LinearOptions(),
    "linear with days": LinearOptions(day_feature="with"),
    "gru": GRUOptions(hidden_size=4),
    "lstm": LSTMOptions(hidden_size=4),
    "rnn": RNNOptions(hidden_size=4),
    "ssm": SSMOptions(hidden_size=4, mlp_width=6),
    "ssm, linear": SSMOptions(hidden_size=4, mlp_width=0),
    "conv": ConvOptions(layers=2, kernel_size=2, d_model=4),
    "conv, one layer, tanh": ConvOptions(layers=1, kernel_size=3, d_model=4, activation="tanh"),
    "conv, with gaps": ConvOptions(layers=2, kernel_size=2, dilation=3, d_model=4),
    "mlp": MLPOptions(mlp_width=6),
    "mlp, two layers, relu": MLPOptions(layers=2, mlp_width=6, activation="relu"),
}


def build(options, *, length=LENGTH, seed=0):
    return options.build(vocab=VOCAB, length=length, key=jr.key(seed))


def drawn(options, vocab=VOCAB):
    """A model all of whose parameters are drawn, biases among them."""
    source = {"source": SOURCE} if options.reads_source else {}
    model = options.build(vocab=vocab, length=LENGTH, key=jr.key(0), **source)
    parameters, rest = eqx.partition(model, eqx.is_array)
    leaves, form = jax.tree.flatten(parameters)
    keys = jr.split(jr.key(1), len(leaves))
    moved = [
        leaf + 0.5 * jr.normal(key, leaf.shape) for leaf, key in zip(leaves, keys, strict=True)
    ]
    return eqx.combine(jax.tree.unflatten(form, moved), rest)


@functools.cache
def built(setting):
    """A model of a setting, its logits and its trace at every query of `TOKENS`, with all sites.

    Off its start, where biases are all 0 and normalisations alike.
    """
    rng = np.random.default_rng(4)
    parameters, rest = eqx.partition(build(MODELS_IN_ALL_SETTINGS[setting], seed=3), eqx.is_array)
    moved = jax.tree.map(
        lambda leaf: leaf + rng.normal(scale=0.1, size=leaf.shape).astype(np.float32), parameters
    )
    model = eqx.combine(moved, rest)
    return model, *run(model, capture=model.sites)


def run(model, tokens=TOKENS, queries=None, **capture):
    queries = range(len(tokens)) if queries is None else queries
    return _call(model, jnp.array(tokens), jnp.array(queries), **capture)


# Op by op each part of a model would compile alone.
@eqx.filter_jit
def _call(model, tokens, queries, **capture):
    return model(tokens, queries, **capture)
