"""Decoding targets with a model: greedy, by sampling or by beam search, token by token."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from attnlab.configuration.numerics import fixed_numerics
from attnlab.models import AbstractModel, AbstractSourceModel
from attnlab.models.generation import Beam, NextLogits, draw_tokens, search_beam
from attnlab.models.seq2seq import Memory


@fixed_numerics()
@eqx.filter_jit
def write_target(
    model: AbstractModel,
    source: Int[Array, " source"],
    *,
    count: int,
    temperature: float = 0.0,
    key: Key[Array, ""] | None = None,
    unused: bool = False,
) -> Int[Array, " target"]:
    """Return `count` tokens after a source, each drawn from softmax(logits / temperature).

    Temperature 0 is greedy decoding, which needs no `key`. With `unused` no token is written twice,
    like a card that was played: the others share its probability. Raises an error for a temperature
    that is negative or not finite, or above 0 without a key.
    """
    start = _of_target(model, source, count, unused=unused)
    return draw_tokens(*start, temperature=temperature, key=key)


@fixed_numerics()
@eqx.filter_jit
def write_beam(
    model: AbstractModel,
    source: Int[Array, " source"],
    *,
    count: int,
    width: int,
    unused: bool = False,
) -> Beam:
    """Return the `width` most probable targets of `count` tokens that beam search finds.

    Exact if `width` is at least vocab^(count - 1); a narrower beam may miss a target whose first
    tokens are unlikely. With `unused`, no token repeats within a target, and log-probabilities are
    renormalised over the unused tokens. If there are fewer than `width` targets, the rest have
    -inf. Raises an error for a width or a count below 1.
    """
    return search_beam(*_of_target(model, source, count, unused=unused), width=width)


def _of_target(
    model: AbstractModel, source: Int[Array, " source"], count: int, *, unused: bool
) -> tuple[NextLogits, Any, Int[Array, " target"]]:
    """Return the first arguments of `draw_tokens` and `search_beam`, for a target of a source."""
    begun = Memory(source, ())
    if isinstance(model, AbstractSourceModel):
        begun = model.begin(jax.nn.one_hot(source, model.vocab), count)

    def next_logits(carried, target, place):
        if isinstance(model, AbstractSourceModel):
            # The one-hot row of -1 is zeros.
            before = jnp.where(place > 0, target[place - 1], -1)
            memory = Memory(begun.read, carried)
            logits, memory = model.next(memory, jax.nn.one_hot(before, model.vocab))
            carried = memory.carried
        else:
            visible = jnp.concatenate([source, target[:-1]])
            logits = model(visible, jnp.array([source.size - 1]) + place)[0][0]
        if unused:
            earlier = (jnp.arange(target.size) < place)[:, None]
            used = earlier & (target[:, None] == jnp.arange(logits.size)[None])
            logits = jnp.where(used.any(axis=0), -jnp.inf, logits)
        return logits, carried

    return next_logits, begun.carried, jnp.zeros(count, source.dtype)


# Ways of decoding: the most probable token each time, a sampled one, or the most probable target
# that beam search finds.
GREEDY, DRAWN, BEAM = "greedy", "temperature", "beam"


class Written(NamedTuple):
    """The model's predictions and its attention to the source, at each target token.

    `probs` is softmax(logits), given the source and the earlier target tokens. `attention` is each
    head's attention to the source tokens: cross-attention if the model has it, whose rows sum to 1;
    otherwise self-attention, whose rows may sum to less, since target tokens get a share too. For a
    model without attention the axis of layers is empty.
    """

    # JAX or NumPy arrays.
    probs: Float[Any, "sequences target vocab"]
    attention: Float[Any, "sequences layers heads target source"]


@fixed_numerics()
@eqx.filter_jit
def written(
    model: AbstractModel,
    sources: Int[Array, "sequences source"],
    targets: Int[Array, "sequences target"],
    *,
    unused: bool = False,
) -> Written:
    """Return predictions and attention for given targets; `unused` is as in `write_target`."""

    def one(source, target):
        visible = jnp.concatenate([source, target[:-1]])
        queries = jnp.arange(source.size - 1, visible.size)
        logits, trace = model(visible, queries)
        if unused:
            marks = jax.nn.one_hot(target, logits.shape[1])
            laid_before = jnp.cumsum(marks, axis=0) - marks > 0
            logits = jnp.where(laid_before, -jnp.inf, logits)
        kinds = {found.kind for found in trace.attention}
        kind = "cross" if "cross" in kinds else "self"
        shares = [
            found.pattern[:, -queries.size :, : source.size]
            for found in trace.attention
            if found.kind == kind
        ]
        none = jnp.zeros((0, 1, target.size, source.size))
        return Written(jax.nn.softmax(logits), jnp.stack(shares) if shares else none)

    return jax.vmap(one)(sources, targets)


@fixed_numerics()
@eqx.filter_jit
def write_all(
    model: AbstractModel,
    sources: Int[Array, "sequences source"],
    *,
    count: int,
    way: str = GREEDY,
    temperature: float = 1.0,
    width: int = 5,
    key: Key[Array, ""] | None = None,
    unused: bool = False,
) -> Beam:
    """Return the targets of `count` tokens that a model writes, and log p of each, in nats.

    log p is at temperature 1, whatever the sampling temperature. Beam search returns the `width`
    best targets of every source, other ways return one; see `write_target`, `write_beam`.
    """

    def one(source, key):
        if way == BEAM:
            return write_beam(model, source, count=count, width=width, unused=unused)
        heat = temperature if way == DRAWN else 0.0
        target = write_target(model, source, count=count, temperature=heat, key=key, unused=unused)
        probs = written(model, source[None], target[None], unused=unused).probs[0]
        log_prob = jnp.log(jnp.take_along_axis(probs, target[:, None], axis=1)).sum()
        return Beam(target[None], log_prob[None])

    keys = None if key is None else jr.split(key, len(sources))
    return jax.vmap(one, in_axes=(0, None if keys is None else 0))(sources, keys)
