"""What a model makes of a source and what is written of its target, token by token."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from attnlab.configuration.numerics import fixed_numerics
from attnlab.inspection.tasks.decoding import write_beam, write_target
from attnlab.models import AbstractModel
from attnlab.models.generation import Beam

# Ways of writing: the most probable token each time, one drawn, or the most probable target of all
# that a beam finds.
GREEDY, DRAWN, BEAM = "greedy", "temperature", "beam"


class Written(NamedTuple):
    """Of each sequence, by target token: the model's distribution of it, and the attention.

    `probs` is softmax(logits), given the source and the target tokens before. `attention` is what
    each head gives to the tokens of the source, layer after layer: of the cross-attention of models
    that have one, where rows sum to 1; else of the self-attention, whose rows have shares for the
    target, too. A model without attention has no layers here.
    """

    probs: Float[Array, "sequences target vocab"]
    attention: Float[Array, "sequences layers heads target source"]


@fixed_numerics()
@eqx.filter_jit
def written(
    model: AbstractModel,
    sources: Int[Array, "sequences source"],
    targets: Int[Array, "sequences target"],
    *,
    unused: bool = False,
) -> Written:
    """What the model makes of each source with its target; `unused` as in `write_target`."""

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
    """The targets of `count` tokens that a model writes of sources, and log p of each, in nats.

    That is at temperature 1, whatever they were drawn at. By a beam the `width` best of every
    source, otherwise one; see `write_target`, `write_beam`.
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
