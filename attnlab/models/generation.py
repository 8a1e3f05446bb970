"""New tokens from a trained model: sampling, greedy choice and beam search.

The model predicts the token after its window. Each new token is pushed into the window and the
oldest one falls out, so that the last `length` tokens always decide the next.
"""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import quoted
from attnlab.models import AbstractModel
from attnlab.models.base import final_logits


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
    """`days` new tokens after `tokens`, each drawn from softmax(logits / temperature).

    Temperature 1 samples from the model, 0 is the greedy choice. Refused: a
    temperature that is negative or no finite number.
    """
    if not 0 <= temperature < math.inf:
        raise ValueError(
            f"`temperature` is {quoted(temperature)}: not a finite number from 0 on. "
            "Choose 0 or more."
        )

    def step(window, number):
        logits = final_logits(model, window, readout)
        if temperature > 0:
            token = jr.categorical(jr.fold_in(key, number), logits / temperature)
        else:
            token = jnp.argmax(logits)
        return jnp.append(window[1:], token), token

    return jax.lax.scan(step, tokens, jnp.arange(days))[1]


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
    """The `width` most probable continuations by `days` tokens that a beam of that width finds.

    Exact when `width` is at least vocab^(days - 1); a narrower beam may miss a continuation
    whose first tokens are unlikely. Where there are fewer continuations than `width`, the rest have
    log-probability -inf. Refused: a width or a number of tokens below 1.
    """
    if width < 1 or days < 1:
        raise ValueError(
            f"`width` is {quoted(width)} and `days` {quoted(days)}: both must be at least 1."
        )

    def log_probs_after(window):
        return jax.nn.log_softmax(final_logits(model, window, readout))

    def step(beam, i):
        windows, continuations, log_probs = beam
        longer = log_probs[:, None] + jax.vmap(log_probs_after)(windows)
        log_probs, chosen = jax.lax.top_k(longer.ravel(), width)
        parent, token = chosen // longer.shape[1], chosen % longer.shape[1]
        windows = jnp.concatenate([windows[parent][:, 1:], token[:, None]], axis=1)
        return (windows, continuations[parent].at[:, i].set(token), log_probs), None

    # All but one of the equal beams start as impossible, so that the first token has no repeats.
    start = (
        jnp.tile(tokens, (width, 1)),
        jnp.zeros((width, days), dtype=tokens.dtype),
        jnp.full(width, -jnp.inf).at[0].set(0.0),
    )
    (_, continuations, log_probs), _ = jax.lax.scan(step, start, jnp.arange(days))
    return Beam(continuations, log_probs)
