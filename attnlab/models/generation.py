"""New tokens from a trained model: sampling, greedy decoding, beam search, key-value cache.

The model predicts the token after its window. Each new token is appended to the window and the
oldest one is dropped, so that the last `length` tokens always decide the next.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import OptionError, present, quoted
from attnlab.models.base import AbstractModel, final_logits
from attnlab.models.transformer import Transformer
from attnlab.models.transformer_layer import KeysAndValues


@fixed_numerics()
@eqx.filter_jit
def generate(
    model: AbstractModel,
    tokens: Int[Array, " length"],
    *,
    readout: str,
    days: int,
    temperature: float,
    key: Key[Array, ""],
) -> Int[Array, " positions"]:
    """Return `days` new tokens after `tokens`, each drawn from softmax(logits / temperature).

    Temperature 1 samples from the model, 0 is greedy decoding. Raises an error for a temperature
    that is negative or not finite.
    """
    after, new = _after(model, tokens, readout), jnp.zeros(days, tokens.dtype)
    return draw_tokens(after, (), new, temperature=temperature, key=key)


class Beam(NamedTuple):
    """Continuations, the most probable first, and log p(continuation | tokens) of each, in nats."""

    continuations: Int[Array, "width positions"]
    log_probs: Float[Array, " width"]


@fixed_numerics()
@eqx.filter_jit
def beam_search(
    model: AbstractModel,
    tokens: Int[Array, " length"],
    *,
    readout: str,
    days: int,
    width: int,
) -> Beam:
    """Return the `width` most probable continuations by `days` tokens that beam search finds.

    Exact if `width` is at least vocab^(days - 1); a narrower beam may miss a continuation whose
    first tokens are unlikely. If there are fewer continuations than `width`, the rest have
    log-probability -inf. Raises an error for a width or a number of tokens below 1.
    """
    after, new = _after(model, tokens, readout), jnp.zeros(days, tokens.dtype)
    return search_beam(after, (), new, width=width)


# From what is carried on, the new tokens so far and the place of the next one, return the logits
# of that token and what is carried on.
NextLogits = Callable[[Any, Int[Array, " new"], Int[Array, ""]], tuple[Float[Array, " vocab"], Any]]


def _after(model: AbstractModel, tokens: Int[Array, " length"], readout: str) -> NextLogits:
    def next_logits(carried, new, place):
        window = jax.lax.dynamic_slice(jnp.concatenate([tokens, new]), (place,), tokens.shape)
        return final_logits(model, window, readout), carried

    return next_logits


def draw_tokens(
    next_logits: NextLogits,
    carried: Any,
    new: Int[Array, " new"],
    *,
    temperature: float,
    key: Key[Array, ""] | None,
) -> Int[Array, " new"]:
    """Return values of `new`, each drawn from softmax(logits / temperature) after those before."""
    if not 0 <= temperature < math.inf or (temperature and key is None):
        raise ValueError(
            f"`temperature` is {quoted(temperature)}: not a finite number from 0 on, or above 0 "
            "without a `key`. Choose 0 or more, and give a key above 0."
        )

    def step(state, place):
        new, carried = state
        logits, carried = next_logits(carried, new, place)
        if temperature > 0:
            token = jr.categorical(jr.fold_in(present(key), place), logits / temperature)
        else:
            token = jnp.argmax(logits)
        return (new.at[place].set(token), carried), None

    return jax.lax.scan(step, (new, carried), jnp.arange(new.size))[0][0]


def search_beam(
    next_logits: NextLogits, carried: Any, new: Int[Array, " new"], *, width: int
) -> Beam:
    """Return the `width` most probable values of `new` that beam search finds."""
    if min(width, new.size) < 1:
        problem = f"`width` is {quoted(width)} for {new.size} tokens"
        raise ValueError(f"{problem}: both must be at least 1.")

    def step(beam, place):
        rows, carried, log_probs = beam
        logits, carried = jax.vmap(next_logits, (0, 0, None))(carried, rows, place)
        longer = log_probs[:, None] + jax.nn.log_softmax(logits)
        log_probs, chosen = jax.lax.top_k(longer.ravel(), width)
        parent, token = chosen // longer.shape[1], chosen % longer.shape[1]
        carried = jax.tree.map(lambda leaf: leaf[parent], carried)
        return (rows[parent].at[:, place].set(token), carried, log_probs), None

    # All but one of the equal beams start as impossible, so that the first token is not repeated.
    rows, carried = jax.tree.map(lambda leaf: jnp.repeat(leaf[None], width, 0), (new, carried))
    start = rows, carried, jnp.full(width, -jnp.inf).at[0].set(0.0)
    (rows, _, log_probs), _ = jax.lax.scan(step, start, jnp.arange(new.size))
    return Beam(rows, log_probs)


class Cache(NamedTuple):
    """Keys and values of all layers at the positions before `position`, followed by zeros."""

    position: Int[Array, ""]
    layers: tuple[KeysAndValues, ...]


def empty_cache(model: Transformer) -> Cache:
    """Return an empty cache with room for `model.length` tokens.

    Raises `OptionError` for a mask that lets a token see later ones, whose keys and values would
    have to be known.
    """
    options = model.options
    if not options.causal:
        raise OptionError(
            "mask", options.mask, "lets tokens see later ones", "Choose the mask 'causal'"
        )
    return Cache(jnp.array(0), (KeysAndValues.empty(options, model.length),) * options.layers)


def next_logits(
    model: Transformer, token: Int[Array, ""], cache: Cache
) -> tuple[Float[Array, " vocab"], Cache]:
    """Return the logits after one more token, equal to those of calling the model with all tokens.

    A layer computes one row instead of all: its query, key and value, its scores with the keys of
    earlier rows, and its MLP. The cache has room for `model.length` tokens; later results are
    meaningless. Pope et al. (2022), "Efficiently scaling transformer inference", section 2.1.
    """
    embedding = model.embedding()
    row = embedding.tokens[token] + embedding.positions[cache.position]
    layers = []
    for layer, seen in zip(model.layers, cache.layers, strict=True):
        row, seen = layer.next_row(row, cache.position, seen, model.options)
        layers.append(seen)
    return model.logits(row[None])[0], Cache(cache.position + 1, tuple(layers))
