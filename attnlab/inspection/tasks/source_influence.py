"""How far each source token moves what a model predicts of each target token."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.generators import AbstractTask, is_source, true_dependence
from attnlab.models import AbstractModel

# Sequences worked on together, which bounds the memory.
_BLOCK = 8


class SourceInfluence(NamedTuple):
    """Means over sequences; rows are target tokens and columns source tokens.

    `influence`: the mean total variation, from 0 to 1, between the model's distributions of target
    token j before and after source token i is replaced by another one, given the same target
    tokens before it; all replacements are alike after which the source can come and has these
    target tokens, where there is no noise. `stderr`: its standard error over sequences, NaN of one
    alone. `truth`: the same of the true distribution and the same replacements. `measured`: in how
    many of the sequences there is such a replacement; where there is none, the others are 0.

    `dependence`: the share of the sequences with the task's `true_dependence` there. `alignment`:
    its `true_alignment`, divided alike among the source tokens of a row, so that rows sum to 1.
    """

    influence: Float[np.ndarray, "target source"]
    stderr: Float[np.ndarray, "target source"]
    truth: Float[np.ndarray, "target source"]
    measured: Int[np.ndarray, "target source"]
    dependence: Float[np.ndarray, "target source"]
    alignment: Float[np.ndarray, "target source"]


@fixed_numerics()
def source_influence(
    task: AbstractTask,
    model: AbstractModel,
    sequences: Int[np.ndarray | Array, "sequences positions"],
    *,
    most: int | None = None,
) -> SourceInfluence:
    """What the target tokens of sequences of a task depend on in a model, and in truth.

    A sequence is the source and its target, of which the last token has no part. With `most`, that
    many replacements of each source token are drawn of all that can come, always the same; some
    cells are then measured in fewer sequences.
    """
    visible = jnp.asarray(sequences)[:, : task.own_length()]
    found = [np.asarray(part, np.float64) for part in _of_each(task, model, visible, most)]
    moved, true, replaced, dependence, alignment = found
    there = replaced > 0
    measured = there.sum(axis=0)
    each = np.divide(moved, replaced, out=np.zeros_like(moved), where=there)
    safe = np.maximum(measured, 1)
    mean = each.sum(axis=0) / safe
    squares = (np.where(there, each - mean, 0) ** 2).sum(axis=0)
    spread = squares / np.where(measured > 1, measured - 1.0, np.nan)
    return SourceInfluence(
        influence=mean,
        stderr=np.sqrt(spread / safe),
        truth=np.divide(true, replaced, out=np.zeros_like(true), where=there).sum(axis=0) / safe,
        measured=measured,
        dependence=dependence.mean(axis=0),
        alignment=alignment.mean(axis=0),
    )


@eqx.filter_jit
def _of_each(task, model, sequences, most):
    count, vocab = task.source_length, task.vocabulary.size
    queries = jnp.arange(count - 1, 2 * count - 1)
    # Two distributions of the truth are the same, or this far apart.
    apart = abs(1 - task.noise - task.noise / (vocab - 1))

    def predicted(source, written):
        return jax.nn.softmax(model(jnp.concatenate([source, written]), queries)[0])

    def of_sequence(numbered):
        number, tokens = numbered
        source, written = tokens[:count], tokens[count:]
        before, target = predicted(source, written), task.target_of(source)

        def after(place, token):
            changed = jnp.where(jnp.arange(count) == place, token, source)
            other = task.target_of(changed)
            same_so_far = jnp.cumprod(jnp.append(True, other[:-1] == target[:-1])).astype(bool)
            counts = same_so_far & (token != source[place]) & is_source(task, changed)
            moved = 0.5 * jnp.abs(predicted(changed, written) - before).sum(axis=-1)
            true = apart * (other != target)
            return counts * moved, counts * true, counts.astype(float)

        tried = _tokens_tried(task, source, most, jr.fold_in(jr.key(0), number))
        each = jax.vmap(lambda place, some: jax.vmap(lambda token: after(place, token))(some))(
            jnp.arange(count), tried
        )
        sums = (part.sum(axis=1).T for part in each)
        aligned = task.true_alignment(source).astype(float)
        aligned /= aligned.sum(axis=1, keepdims=True)
        return *sums, true_dependence(task, source), aligned

    numbers = jnp.arange(len(sequences))
    return jax.lax.map(of_sequence, (numbers, sequences), batch_size=_BLOCK)


def _tokens_tried(
    task: AbstractTask, source: Int[Array, " source"], most: int | None, key
) -> Int[Array, "source tried"]:
    """Tokens to put in each place, those that can come there first."""
    vocab = task.vocabulary.size
    if most is None or most >= vocab:
        return jnp.tile(jnp.arange(vocab), (source.size, 1))

    def comes(place, token) -> Bool[Array, ""]:
        changed = jnp.where(jnp.arange(source.size) == place, token, source)
        return is_source(task, changed) & (token != source[place])

    tokens = jnp.arange(vocab)
    can_come = jax.vmap(lambda place: jax.vmap(lambda token: comes(place, token))(tokens))(
        jnp.arange(source.size)
    )
    order = jnp.where(can_come, jr.uniform(key, can_come.shape), -1.0)
    return jax.lax.top_k(order, most)[1]
