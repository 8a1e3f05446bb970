"""Where a model looks in its source while it writes, held against where the target comes from."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.generators import AbstractTask
from attnlab.models import AbstractModel

# Sequences traced together, which bounds the memory.
_BLOCK = 32


@fixed_numerics()
def alignment_shares(
    task: AbstractTask, sources: Int[Array | np.ndarray, "sequences source"]
) -> Float[np.ndarray, "target source"]:
    """The mean true alignment of sources: rows sum to 1, divided alike among equal tokens."""
    return np.asarray(_mean_shares(task, jnp.asarray(sources)))


@eqx.filter_jit
def _mean_shares(task, sources):
    true = jax.vmap(task.true_alignment)(sources)
    return (true / true.sum(axis=-1, keepdims=True)).mean(axis=0)


@fixed_numerics()
def on_true_alignment(
    task: AbstractTask,
    model: AbstractModel,
    sequences: Int[Array | np.ndarray, "sequences length"],
) -> Float[np.ndarray, "maps heads"]:
    """The share of its attention that each head of each cross-attention puts on the true alignment.

    The mean over target tokens and sequences of Σᵢ αⱼᵢ over the source tokens i that target token
    j is taken from. `sequences` are visible tokens, as those of a run's probes. Refused, with a
    `ValueError`: a model without cross-attention.
    """
    return np.asarray(_on_truth(task, model, jnp.asarray(sequences)))


@eqx.filter_jit
def _on_truth(task, model, sequences):
    count = task.given()

    def one(tokens):
        # The token that begins the target stands in the place of the source's last one.
        queries = jnp.arange(count - 1, tokens.size)
        _, trace = model(tokens, queries)
        true = task.true_alignment(tokens[:count])
        cross = [found.pattern[..., :count] for found in trace.attention if found.kind == "cross"]
        if not cross:
            raise ValueError("This model has no cross-attention. Choose one that has.")
        return jnp.stack([(pattern * true[None]).sum(axis=-1).mean(axis=-1) for pattern in cross])

    return jax.lax.map(one, sequences, batch_size=_BLOCK).mean(axis=0)
