"""A model on a task: alignment, exact match, and what its targets depend on."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.generators import (
    AbstractGenerator,
    AbstractTask,
    is_source,
    loss_mask_of,
    true_dependence,
)
from attnlab.generators.tasks import is_task
from attnlab.inspection.decoding import write_target
from attnlab.models import AbstractModel
from attnlab.optimum.sequences import Estimate
from attnlab.training.evaluation import EvaluationByPosition, evaluate_by_position
from attnlab.training.sources import as_examples

# Number of sequences traced together, which bounds the memory.
_ALIGNED_TOGETHER = 32


@fixed_numerics()
def alignment_shares(
    task: AbstractTask, sources: Int[Array | np.ndarray, "sequences source"]
) -> Float[np.ndarray, "target source"]:
    """Return the mean true alignment; equal source tokens share a row equally, so it sums to 1."""
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
    """Return the share of attention that each cross-attention head puts on the true alignment.

    The attention weights αⱼᵢ of target token j on the source tokens i that it comes from are
    summed; the result is the mean over target tokens and sequences. `sequences` are visible
    tokens, such as a run's probes. Raises `ValueError` for a model without cross-attention.
    """
    return np.asarray(_on_truth(task, model, jnp.asarray(sequences)))


@eqx.filter_jit
def _on_truth(task, model, sequences):
    count = task.prompt_length()

    def one(tokens):
        # The first target token is predicted at the source's last position.
        queries = jnp.arange(count - 1, tokens.size)
        _, trace = model(tokens, queries)
        true = task.true_alignment(tokens[:count])
        cross = [found.pattern[..., :count] for found in trace.attention if found.kind == "cross"]
        if not cross:
            raise ValueError("This model has no cross-attention. Choose a model that has it.")
        return jnp.stack([(pattern * true[None]).sum(axis=-1).mean(axis=-1) for pattern in cross])

    return jax.lax.map(one, sequences, batch_size=_ALIGNED_TOGETHER).mean(axis=0)


# Number of sequences decoded together.
_WRITTEN_TOGETHER = 1_000


class TargetTest(NamedTuple):
    """Results on test sequences; `exact_match` is the share of entirely correct targets.

    Targets are decoded greedily, each token after the model's own earlier ones, and compared with
    the target without noise. `tokens` are the results for each target token given the true tokens
    before it; their mean is the result of a run's test. Errors are over sequences, and never 0.
    """

    exact_match: Estimate
    tokens: EvaluationByPosition


@fixed_numerics()
def check_targets(
    task: AbstractTask,
    model: AbstractModel,
    sequences: Int[Array, "sequences positions"],
) -> TargetTest:
    """Test a model on sequences of a task."""
    right = np.asarray(_right(task, model, jnp.asarray(sequences)))
    share, size = right.mean(), right.size
    safe = np.clip(share, 0.5 / size, 1 - 0.5 / size)
    return TargetTest(
        exact_match=Estimate(float(share), float(np.sqrt(safe * (1 - safe) / size))),
        tokens=evaluate_by_position(
            model, as_examples(jnp.asarray(sequences), loss_mask_of(task, sequences))
        ),
    )


@fixed_numerics()
def exact_match_of(
    process: AbstractGenerator, model: AbstractModel, sequences: Int[Array, "sequences positions"]
) -> float | None:
    """Return the `exact_match` of `check_targets`, or None if the process is not a task."""
    if not is_task(process):
        return None
    return float(np.asarray(_right(process, model, jnp.asarray(sequences))).mean())


@eqx.filter_jit
def _right(task, model, sequences):
    def one(tokens):
        source, count = tokens[: task.prompt_length()], tokens.size - task.prompt_length()
        written = write_target(model, source, count=count)
        return (written == task.target_of(source)).all()

    return jax.lax.map(one, sequences, batch_size=_WRITTEN_TOGETHER)


# Number of sequences processed together, which bounds the memory.
_CHANGED_TOGETHER = 8


class SourceInfluence(NamedTuple):
    """How target tokens (rows) depend on source tokens (columns), as means over sequences.

    `influence`: the mean total variation, from 0 to 1, between the model's distributions of target
    token j before and after source token i is replaced, given the same earlier target tokens. All
    replacements that keep the source possible and these target tokens unchanged are equally likely,
    without noise. `stderr`: its standard error over sequences, NaN for one. `truth`: the same for
    the true distribution. `measured`: the number of sequences with such a replacement; if there is
    none, `influence` and `truth` are 0.

    `dependence`: the share of sequences in which the task's `true_dependence` is true. `alignment`:
    the `true_alignment`, divided equally among the source tokens of a row, so that rows sum to 1.
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
    """Return what the target tokens of a task's sequences depend on, in a model and in truth.

    A sequence is the source and its target, whose last token is not used. With `most`, only this
    many replacements of each source token are drawn, always the same ones; some cells are then
    measured in fewer sequences.
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
    # The total variation between the true distributions of two different target tokens.
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
    return jax.lax.map(of_sequence, (numbers, sequences), batch_size=_CHANGED_TOGETHER)


def _tokens_tried(
    task: AbstractTask, source: Int[Array, " source"], most: int | None, key
) -> Int[Array, "source tried"]:
    """Return replacements to try at each source position, possible ones first."""
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
