"""Token after token through a causal transformer, with the keys and values of earlier ones kept."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from attnlab.configuration.options import OptionError
from attnlab.models.transformer.layer import KeysAndValues, TransformerLayer
from attnlab.models.transformer.stack import Transformer, TransformerOptions


class Cache(NamedTuple):
    """Keys and values of all layers at the positions before `position`; behind them, zeros."""

    position: Int[Array, ""]
    layers: tuple[KeysAndValues, ...]


def empty_cache(model: Transformer) -> Cache:
    """One with room for `model.length` tokens and none in it.

    Refused, with an `OptionError`: a mask that lets a token see later ones, whose keys and values
    would have to be known.
    """
    options = model.options
    if not options.causal:
        raise OptionError(
            "mask", options.mask, "lets tokens see later ones", "Choose the mask 'causal'"
        )
    return Cache(jnp.array(0), (nothing_seen(options, model.length),) * options.layers)


def nothing_seen(options: TransformerOptions, length: int) -> KeysAndValues:
    """The zeros of a layer that will see `length` positions."""
    return KeysAndValues(
        jnp.zeros((options.heads, length, options.d_attn)),
        jnp.zeros((options.heads, length, options.width_of_values)),
    )


def next_logits(
    model: Transformer, token: Int[Array, ""], cache: Cache
) -> tuple[Float[Array, " vocab"], Cache]:
    """The logits after one more token, those of a call of the model with all tokens so far.

    A layer multiplies for one row instead of all: the row's query, key and value, its scores with
    the keys of the rows before, and its MLP. There is no room after `model.length` tokens: what a
    call beyond it returns means nothing. Pope et al. (2022), "Efficiently scaling transformer
    inference", section 2.1.
    """
    embedding = model.embedding()
    row = embedding.tokens[token] + embedding.positions[cache.position]
    layers = []
    for layer, seen in zip(model.layers, cache.layers, strict=True):
        row, seen = after_layer(layer, row, cache.position, seen, model.options)
        layers.append(seen)
    return model.logits(row[None])[0], Cache(cache.position + 1, tuple(layers))


def after_layer(
    layer: TransformerLayer,
    row: Float[Array, " width"],
    position: Int[Array, ""],
    seen: KeysAndValues,
    options: TransformerOptions,
) -> tuple[Float[Array, " width"], KeysAndValues]:
    """The row at `position` after a layer, and what the layer has seen with it."""
    read = layer.as_read(row[None], 0, options)
    added = layer.keys_and_values(read, options)
    seen = jax.tree.map(lambda all_, one: all_.at[:, position].set(one[:, 0]), seen, added)
    parts = layer.asked(read, position[None], seen, options)
    outputs, _ = jax.vmap(lambda head: head.attended(options.score))(parts)
    return layer.finished(row[None], outputs, options)[0], seen
